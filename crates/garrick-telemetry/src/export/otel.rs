//! Exports the metrics of `/metrics` as observable instruments of OpenTelemetry.

use opentelemetry::KeyValue;
use opentelemetry::metrics::{AsyncInstrument, Meter};

use crate::live::View;
use crate::metrics::{Exported, FAMILIES, Family, Kind};

/// Registers an observable instrument with `meter` for each counter and gauge that Garrick itself
/// exports at `/metrics`. For example, the instrument for `garrick_channel_messages_total` is
/// `garrick.channel.messages`.
///
/// Some metrics at `/metrics` have no instrument: histograms, dead letters by type and reason,
/// restarts of single children, and the metrics that the program itself records.
///
/// The instruments read the newest snapshot each time the meter's provider collects metrics. The
/// instruments keep clones of `view` until the provider is dropped. After the telemetry has
/// stopped, the instruments still report the last snapshot.
///
/// # Examples
///
/// ```
/// use garrick_telemetry::{Telemetry, observe_with};
/// use opentelemetry::metrics::MeterProvider;
/// use opentelemetry_sdk::metrics::SdkMeterProvider;
///
/// let telemetry = Telemetry::builder().address(([127, 0, 0, 1], 0).into()).start()?;
/// let provider = SdkMeterProvider::builder().build();
/// observe_with(&provider.meter("garrick"), &telemetry.view());
/// # Ok::<(), garrick_telemetry::StartError>(())
/// ```
pub fn observe_with(meter: &Meter, view: &View) {
    for family in FAMILIES {
        let name = family.name.replace('_', ".");
        let view = view.clone();
        let observe = move |observer: &dyn AsyncInstrument<f64>| observe(family, &view, observer);
        match family.kind {
            Kind::Counter => drop(
                meter
                    .f64_observable_counter(name)
                    .with_description(family.help)
                    .with_callback(observe)
                    .build(),
            ),
            Kind::Gauge => drop(
                meter
                    .f64_observable_gauge(name)
                    .with_description(family.help)
                    .with_callback(observe)
                    .build(),
            ),
        }
    }
}

fn observe(family: &Family, view: &View, observer: &dyn AsyncInstrument<f64>) {
    let snapshot = view.latest();
    family.each(&Exported::new(&snapshot), |labels, value| {
        let labels = labels.iter();
        let attributes: Vec<KeyValue> = labels
            .map(|(name, value)| KeyValue::new(*name, (*value).to_owned()))
            .collect();
        observer.observe(value, &attributes);
    });
}
