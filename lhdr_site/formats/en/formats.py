"""Moments in English: the year and the zone always stand there, as teams sit in several and pages are cited later."""

DATE_FORMAT = "Y-m-d"
TIME_FORMAT = "H:i T"
DATETIME_FORMAT = "Y-m-d H:i T"
