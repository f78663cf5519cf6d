"""verify: mathematical claims as data, checked in every arithmetic, judged from evidence."""
