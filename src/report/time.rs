//! Moments in UTC, from seconds since 1970.

use serde::Serializer;

/// Writes a moment as RFC 3339 has it: `2026-11-30T23:43:46Z`.
pub fn rfc3339(seconds: i64) -> String {
    let (year, month, day) = civil(seconds.div_euclid(86_400));
    let second = seconds.rem_euclid(86_400);
    format!("{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}Z", second / 3600, second / 60 % 60, second % 60)
}

/// Writes a moment for a table: `2026-11-30 23:43`.
pub(super) fn short(seconds: i64) -> String {
    rfc3339(seconds).chars().take(16).map(|c| if c == 'T' { ' ' } else { c }).collect()
}

pub(super) fn serialize<S: Serializer>(seconds: &i64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&rfc3339(*seconds))
}

/// Converts days since 1970-01-01 into year, month, day of the Gregorian calendar.
fn civil(days: i64) -> (i64, i64, i64) {
    // Years begin in March here, so that the leap day is the last of its year.
    let days = days.saturating_add(719_468);
    let era = days.div_euclid(146_097);
    let of_era = days.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march_month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * march_month + 2) / 5 + 1;
    let month = if march_month < 10 { march_month + 3 } else { march_month - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_moments() {
        let cases = [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_796_082_226, "2026-11-30T23:43:46Z"),
            (4_107_542_399, "2100-02-28T23:59:59Z"),
            (-1, "1969-12-31T23:59:59Z"),
        ];
        for (seconds, want) in cases {
            assert_eq!(rfc3339(seconds), want);
        }
        assert_eq!(short(1_796_082_226), "2026-11-30 23:43");
        // No moment panics.
        rfc3339(i64::MIN);
        rfc3339(i64::MAX);
    }
}
