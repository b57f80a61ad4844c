//! Formats figures for readers.

/// Formats a time given in nanoseconds. The text has three significant digits and a unit, such as
/// `1.50 us`.
pub fn time(ns: f64) -> String {
    let (value, unit) = match ns {
        ns if ns < 1e3 => (ns, "ns"),
        ns if ns < 1e6 => (ns / 1e3, "us"),
        ns if ns < 1e9 => (ns / 1e6, "ms"),
        ns => (ns / 1e9, "s"),
    };
    format!("{} {unit}", three_digits(value))
}

/// Formats a range of times given in nanoseconds, such as `12.3 ns .. 1.50 us`.
pub fn times(from: f64, to: f64) -> String {
    format!("{} .. {}", time(from), time(to))
}

/// Formats a rate with three significant digits. A letter stands for thousands (K), millions (M) or
/// billions (G), as in `98.8 M`.
pub fn rate(per_second: f64) -> String {
    let (value, letter) = match per_second {
        rate if rate < 1e3 => (rate, ""),
        rate if rate < 1e6 => (rate / 1e3, " K"),
        rate if rate < 1e9 => (rate / 1e6, " M"),
        rate => (rate / 1e9, " G"),
    };
    format!("{}{letter}", three_digits(value))
}

/// Formats a size in bytes, in binary units (powers of 1024).
pub fn bytes(bytes: u64) -> String {
    let (value, unit) = match bytes as f64 {
        bytes if bytes < 1024.0 => return format!("{bytes} B"),
        bytes if bytes < 1024.0 * 1024.0 => (bytes / 1024.0, "KiB"),
        bytes if bytes < 1024.0 * 1024.0 * 1024.0 => (bytes / 1024.0 / 1024.0, "MiB"),
        bytes => (bytes / 1024.0 / 1024.0 / 1024.0, "GiB"),
    };
    format!("{} {unit}", three_digits(value))
}

/// Formats a whole number with its digits in groups of three, such as `33,000,000`.
pub fn whole(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// Formats a figure with three digits, of which at most two are decimals. A figure of 1000 or more
/// keeps all of its whole digits.
pub fn three_digits(value: f64) -> String {
    let decimals = match value {
        value if value < 9.995 => 2,
        value if value < 99.95 => 1,
        _ => 0,
    };
    format!("{value:.decimals$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_choose_their_unit() {
        assert_eq!(time(0.42), "0.42 ns");
        assert_eq!(time(12.34), "12.3 ns");
        assert_eq!(time(1_500.0), "1.50 us");
        assert_eq!(time(200_400_000.0), "200 ms");
        assert_eq!(time(3.21e9), "3.21 s");
    }

    #[test]
    fn rates_choose_their_letter() {
        assert_eq!(rate(5.0), "5.00");
        assert_eq!(rate(123_456.0), "123 K");
        assert_eq!(rate(98_760_000.0), "98.8 M");
        assert_eq!(rate(2.5e9), "2.50 G");
    }

    #[test]
    fn sizes_choose_their_unit() {
        assert_eq!(bytes(1023), "1023 B");
        assert_eq!(bytes(1024), "1.00 KiB");
        assert_eq!(bytes(12 << 20), "12.0 MiB");
        assert_eq!(bytes(3 << 29), "1.50 GiB");
    }

    #[test]
    fn whole_numbers_are_grouped() {
        assert_eq!(whole(0), "0");
        assert_eq!(whole(999), "999");
        assert_eq!(whole(1_000), "1,000");
        assert_eq!(whole(33_000_000), "33,000,000");
    }
}
