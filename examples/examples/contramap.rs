//! An address that converts messages by a function: a sensor sends degrees Fahrenheit to a display
//! of degrees Celsius.

use garrick::prelude::*;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let system = System::new()?;
    let display = system.spawn(behavior(|celsius: f64, _| {
        println!("{celsius:.1} degrees Celsius");
    }))?;
    let fahrenheit = display.contramap(|degrees: f64| (degrees - 32.0) / 1.8);
    for degrees in [32.0, 98.6, 212.0] {
        fahrenheit.send(degrees)?;
    }
    system.shutdown();
    Ok(())
}
