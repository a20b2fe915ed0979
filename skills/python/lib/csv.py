# Comma separated values (RFC 4180 and the dialects of CPython).
QUOTE_MINIMAL, QUOTE_ALL, QUOTE_NONNUMERIC, QUOTE_NONE = 0, 1, 2, 3


class Error(Exception):
    pass


class Dialect:
    delimiter, quotechar, doublequote, escapechar = ",", '"', True, None
    lineterminator, quoting, skipinitialspace, strict = "\r\n", QUOTE_MINIMAL, False, False


class excel(Dialect):
    pass


class excel_tab(Dialect):
    delimiter = "\t"


class unix_dialect(Dialect):
    lineterminator, quoting = "\n", QUOTE_ALL


_dialects = {"excel": excel, "excel-tab": excel_tab, "unix": unix_dialect}


def list_dialects():
    return sorted(_dialects)


def register_dialect(name, dialect=Dialect, **options):
    _dialects[name] = _dialect(dialect, options)


def _dialect(base, options):
    d = Dialect()
    base = _dialects[base] if isinstance(base, str) else base
    for name in ("delimiter", "quotechar", "doublequote", "escapechar", "lineterminator", "quoting", "skipinitialspace", "strict"):
        setattr(d, name, options.get(name, getattr(base, name)))
    return d


class reader:
    def __init__(self, lines, dialect="excel", **options):
        self.dialect, self._lines, self.line_num = _dialect(dialect, options), iter(lines), 0

    def __iter__(self):
        return self

    def __next__(self):
        d, row, field, quoted, inside, started = self.dialect, [], [], False, False, False
        while True:
            try:
                line = next(self._lines)
            except StopIteration:
                if not started:
                    raise
                if inside and d.strict:
                    raise Error("unexpected end of data")
                row.append(self._value(field, quoted))
                return row
            self.line_num += 1
            started, i, n = True, 0, len(line)
            while i < n:
                c = line[i]
                i += 1
                if d.escapechar and c == d.escapechar:
                    field.append(line[i:i + 1] or "\n")
                    i += 1
                elif inside:
                    if c != d.quotechar:
                        field.append(c)
                    elif d.doublequote and line[i:i + 1] == d.quotechar:
                        field.append(c)
                        i += 1
                    else:
                        inside = False
                elif c == d.quotechar and d.quoting != QUOTE_NONE and not field and not quoted:
                    quoted = inside = True
                elif c == d.delimiter:
                    row.append(self._value(field, quoted))
                    field, quoted = [], False
                elif c in "\r\n":
                    break
                elif c == " " and d.skipinitialspace and not field and not quoted:
                    pass
                else:
                    if quoted and d.strict:
                        raise Error("'" + d.delimiter + "' expected after '" + d.quotechar + "'")
                    field.append(c)
            if inside:
                if not line.endswith("\n") and not line.endswith("\r"):
                    continue
                continue
            if not row and not field and not quoted:
                return []
            row.append(self._value(field, quoted))
            return row

    def _value(self, field, quoted):
        s = "".join(field)
        return float(s) if self.dialect.quoting == QUOTE_NONNUMERIC and not quoted else s


class writer:
    def __init__(self, file, dialect="excel", **options):
        self.dialect, self._file = _dialect(dialect, options), file

    def writerow(self, row):
        row = list(row)
        cells = [self._cell(v, len(row) == 1) for v in row]
        return self._file.write(self.dialect.delimiter.join(cells) + self.dialect.lineterminator)

    def writerows(self, rows):
        for row in rows:
            self.writerow(row)

    def _cell(self, v, alone):
        d = self.dialect
        s = "" if v is None else v if isinstance(v, str) else str(v)
        special = any([c in s for c in (d.delimiter, d.quotechar or d.delimiter, d.escapechar or d.delimiter, "\r", "\n")])
        if d.quoting == QUOTE_NONE:
            if special or alone and not s:
                if not d.escapechar:
                    raise Error("need to escape, but no escapechar set")
                return "".join([d.escapechar + c if c in (d.delimiter, d.quotechar, d.escapechar, "\r", "\n") else c for c in s])
            return s
        number = isinstance(v, (int, float)) and not isinstance(v, bool)
        if d.quoting == QUOTE_ALL or special or alone and not s or d.quoting == QUOTE_NONNUMERIC and not number:
            if d.doublequote:
                s = s.replace(d.quotechar, d.quotechar * 2)
            elif d.escapechar:
                s = s.replace(d.quotechar, d.escapechar + d.quotechar)
            return d.quotechar + s + d.quotechar
        return s


class DictReader:
    def __init__(self, f, fieldnames=None, restkey=None, restval=None, dialect="excel", **options):
        self.reader, self._names, self.restkey, self.restval = reader(f, dialect, **options), fieldnames, restkey, restval

    @property
    def fieldnames(self):
        if self._names is None:
            try:
                self._names = next(self.reader)
            except StopIteration:
                pass
        return self._names

    @property
    def line_num(self):
        return self.reader.line_num

    def __iter__(self):
        return self

    def __next__(self):
        names = self.fieldnames
        row = next(self.reader)
        while not row:
            row = next(self.reader)
        from collections import OrderedDict
        out = OrderedDict(zip(names, row))
        if len(row) > len(names):
            out[self.restkey] = row[len(names):]
        for name in names[len(row):]:
            out[name] = self.restval
        return out


class DictWriter:
    def __init__(self, f, fieldnames, restval="", extrasaction="raise", dialect="excel", **options):
        self.writer, self.fieldnames, self.restval, self.extrasaction = writer(f, dialect, **options), fieldnames, restval, extrasaction

    def writeheader(self):
        return self.writer.writerow(self.fieldnames)

    def writerow(self, row):
        if self.extrasaction == "raise":
            extra = [k for k in row if k not in self.fieldnames]
            if extra:
                raise ValueError("dict contains fields not in fieldnames: " + ", ".join([repr(k) for k in sorted(extra)]))
        return self.writer.writerow([row.get(k, self.restval) for k in self.fieldnames])

    def writerows(self, rows):
        for row in rows:
            self.writerow(row)
