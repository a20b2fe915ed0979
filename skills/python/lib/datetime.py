# The interpreter's own, with what it lacks: names and patterns of times.
import sys

_kept, _path = sys.modules.pop("datetime"), sys.path[:]
sys.path[:] = [".frozen"]
try:
    import datetime as _frozen
finally:
    sys.path[:] = _path
    sys.modules["datetime"] = _kept
date, datetime, time, timedelta, timezone, tzinfo = _frozen.date, _frozen.datetime, _frozen.time, _frozen.timedelta, _frozen.timezone, _frozen.tzinfo
MINYEAR, MAXYEAR, UTC = _frozen.MINYEAR, _frozen.MAXYEAR, timezone.utc

_days = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
_months = ["January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"]


def _get(t, name, default=0):
    return getattr(t, name, default)


def _offset(t, colon=""):
    d = t.utcoffset() if hasattr(t, "utcoffset") else None
    if d is None:
        return ""
    minutes = round(d.total_seconds()) // 60
    return "%s%02d%s%02d" % ("-" if minutes < 0 else "+", abs(minutes) // 60, colon, abs(minutes) % 60)


def _day_of_year(t):
    return date(t.year, t.month, t.day).toordinal() - date(t.year, 1, 1).toordinal() + 1


def _weekday(t):
    return date(t.year, t.month, t.day).weekday()


_directives = {
    "Y": lambda t: "%04d" % t.year, "m": lambda t: "%02d" % t.month, "d": lambda t: "%02d" % t.day, "y": lambda t: "%02d" % (t.year % 100),
    "H": lambda t: "%02d" % _get(t, "hour"), "M": lambda t: "%02d" % _get(t, "minute"), "S": lambda t: "%02d" % _get(t, "second"),
    "I": lambda t: "%02d" % ((_get(t, "hour") + 11) % 12 + 1), "p": lambda t: "AM" if _get(t, "hour") < 12 else "PM", "f": lambda t: "%06d" % _get(t, "microsecond"),
    "a": lambda t: _days[_weekday(t)][:3], "A": lambda t: _days[_weekday(t)], "b": lambda t: _months[t.month - 1][:3], "B": lambda t: _months[t.month - 1],
    "h": lambda t: _months[t.month - 1][:3], "j": lambda t: "%03d" % _day_of_year(t), "w": lambda t: str((_weekday(t) + 1) % 7), "u": lambda t: str(_weekday(t) + 1),
    "U": lambda t: "%02d" % ((_day_of_year(t) + 6 - (_weekday(t) + 1) % 7) // 7), "W": lambda t: "%02d" % ((_day_of_year(t) + 6 - _weekday(t)) // 7),
    "V": lambda t: "%02d" % _isocalendar(t)[1], "G": lambda t: str(_isocalendar(t)[0]), "z": _offset, "Z": lambda t: (t.tzname() or "") if hasattr(t, "tzname") else "",
    "F": lambda t: _strftime(t, "%Y-%m-%d"), "T": lambda t: _strftime(t, "%H:%M:%S"), "D": lambda t: _strftime(t, "%m/%d/%y"), "R": lambda t: _strftime(t, "%H:%M"),
    "c": lambda t: _strftime(t, "%a %b ") + "%2d" % t.day + _strftime(t, " %H:%M:%S %Y"), "x": lambda t: _strftime(t, "%m/%d/%y"), "X": lambda t: _strftime(t, "%H:%M:%S"),
    "e": lambda t: "%2d" % t.day, "s": lambda t: str(int(t.timestamp())), "n": lambda t: "\n", "t": lambda t: "\t", "%": lambda t: "%",
}


def _strftime(t, format):
    out, i = [], 0
    while i < len(format):
        c = format[i]
        i += 1
        if c != "%" or i >= len(format):
            out.append(c)
            continue
        c = format[i]
        i += 1
        strip = c == "-"
        if strip:
            c = format[i]
            i += 1
        if c not in _directives:
            raise ValueError("Invalid format string: %" + c)
        s = _directives[c](t)
        out.append((s.lstrip("0") or "0") if strip else s)
    return "".join(out)


def _isocalendar(t):
    # the week belongs to the year its Thursday is in
    d = date(t.year, t.month, t.day)
    thursday = date.fromordinal(d.toordinal() + 3 - d.weekday())
    return thursday.year, (thursday.toordinal() - date(thursday.year, 1, 1).toordinal()) // 7 + 1, d.weekday() + 1


_widths = {"Y": 4, "m": 2, "d": 2, "e": 2, "y": 2, "H": 2, "I": 2, "M": 2, "S": 2, "j": 3, "f": 6, "w": 1, "u": 1}
_longer = {"T": "%H:%M:%S", "D": "%m/%d/%y", "F": "%Y-%m-%d", "R": "%H:%M", "c": "%a %b %d %H:%M:%S %Y", "x": "%m/%d/%y", "X": "%H:%M:%S"}


def _strptime(text, format):
    for c, whole in _longer.items():
        format = format.replace("%" + c, whole)

    def fail():
        raise ValueError("time data " + repr(text) + " does not match format " + repr(format))
    got, i, j = {}, 0, 0
    while j < len(format):
        c = format[j]
        j += 1
        if c.isspace():
            while i < len(text) and text[i].isspace():
                i += 1
            continue
        if c != "%":
            if text[i:i + 1] != c:
                fail()
            i += 1
            continue
        c = format[j:j + 1]
        j += 1
        if c in _widths:
            end = i
            while end < len(text) and end - i < _widths[c] and text[end].isdigit():
                end += 1
            if end == i or c == "Y" and end - i < 4:
                fail()
            got[c] = int(text[i:end]) * (10 ** (6 - (end - i)) if c == "f" else 1)
            i = end
        elif c in "aAbBh":
            names = _days if c in "aA" else _months
            for n, name in enumerate(names):
                name = name if c in "AB" else name[:3]
                if text[i:i + len(name)].lower() == name.lower():
                    got["b" if c in "bBh" else "a"] = n
                    i += len(name)
                    break
            else:
                fail()
        elif c == "p":
            if text[i:i + 2].upper() not in ("AM", "PM"):
                fail()
            got["p"] = text[i:i + 2].upper() == "PM"
            i += 2
        elif c == "z":
            i, got["z"] = _read_offset(text, i, fail)
        elif c == "Z":
            while i < len(text) and text[i].isalpha():
                i += 1
        elif c == "%":
            if text[i:i + 1] != "%":
                fail()
            i += 1
        else:
            raise ValueError("'" + c + "' is a bad directive in format " + repr(format))
    if i < len(text):
        raise ValueError("unconverted data remains: " + text[i:])
    return _made(got)


def _read_offset(text, i, fail):
    if text[i:i + 1] == "Z":
        return i + 1, timezone.utc
    digits = text[i + 1:i + 6].replace(":", "")[:4]
    if text[i:i + 1] not in ("+", "-") or len(digits) < 4 or not digits.isdigit():
        fail()
    minutes = int(digits[:2]) * 60 + int(digits[2:])
    return i + (6 if text[i + 3:i + 4] == ":" else 5), timezone(timedelta(minutes=-minutes if text[i] == "-" else minutes))


def _made(got):
    year = got.get("Y")
    if year is None:
        year = 1900
        if "y" in got:
            year = got["y"] + (2000 if got["y"] < 69 else 1900)
    hour = got.get("H", 0)
    if "I" in got:
        hour = got["I"] % 12 + (12 if got.get("p") else 0)
    t = datetime(year, got["b"] + 1 if "b" in got else got.get("m", 1), got.get("d", got.get("e", 1)), hour, got.get("M", 0), got.get("S", 0), got.get("f", 0), tzinfo=got.get("z"))
    return t + timedelta(days=got["j"] - 1) if "j" in got and "m" not in got and "b" not in got else t


_fromisoformat = datetime.fromisoformat


def _from_iso(text):
    return _fromisoformat(text[:-1] + "+00:00" if text.endswith("Z") else text)


for _kind in (date, time, datetime):
    _kind.strftime = lambda self, format: _strftime(self, format)
    _kind.__format__ = lambda self, spec: _strftime(self, spec) if spec else str(self)
datetime.strptime = staticmethod(_strptime)
datetime.fromisoformat = staticmethod(_from_iso)
for _kind in (date, datetime):
    _kind.isocalendar = lambda self: _isocalendar(self)
datetime.min, datetime.max = datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59, 999999)


def _delta_text(d):
    us = d.days * 86400000000 + d.seconds * 1000000 + d.microseconds
    days, us = divmod(us, 86400000000)
    s, us = divmod(us, 1000000)
    text = "%d:%02d:%02d" % (s // 3600, s // 60 % 60, s % 60) + (".%06d" % us if us else "")
    return "%d day%s, %s" % (days, "" if abs(days) == 1 else "s", text) if days else text


def _repr(t):
    parts = [t.year, t.month, t.day, t.hour, t.minute, t.second, t.microsecond]
    while len(parts) > 5 and parts[-1] == 0:
        parts.pop()
    zone = ", tzinfo=" + repr(t.tzinfo) if t.tzinfo is not None else ""
    return "datetime.datetime(" + ", ".join([str(p) for p in parts]) + zone + ")"


def _zone_text(z):
    minutes = round(z.utcoffset(None).total_seconds()) // 60
    return "UTC" if not minutes else "UTC%s%02d:%02d" % ("-" if minutes < 0 else "+", abs(minutes) // 60, abs(minutes) % 60)


timedelta.__str__ = _delta_text
datetime.__repr__ = _repr
timezone.__str__ = _zone_text
timezone.tzname = lambda self, dt=None: _zone_text(self)
timezone.__repr__ = lambda z: "datetime.timezone.utc" if _zone_text(z) == "UTC" else "datetime.timezone(" + repr(z.utcoffset(None)) + ")"
