# Sums are made with math-exact integers where all are, else with compensation.
import math


class StatisticsError(ValueError):
    pass


def fsum(data):
    # Shewchuk: the parts never lose a bit
    parts = []
    for x in data:
        i = 0
        for y in parts:
            if abs(x) < abs(y):
                x, y = y, x
            high = x + y
            low = y - (high - x)
            if low:
                parts[i] = low
                i += 1
            x = high
        parts[i:] = [x]
    return sum(parts)


def _list(data, least, why):
    data = list(data)
    if len(data) < least:
        raise StatisticsError(why)
    return data


def _total(data):
    return sum(data) if all([isinstance(x, int) for x in data]) else fsum([float(x) for x in data])


def _ratio(total, n):
    if isinstance(total, int) and total % n == 0:
        return total // n
    return total / n


def mean(data):
    data = _list(data, 1, "mean requires at least one data point")
    return _ratio(_total(data), len(data))


def fmean(data, weights=None):
    data = [float(x) for x in data]
    if not data:
        raise StatisticsError("fmean requires at least one data point")
    if weights is None:
        return fsum(data) / len(data)
    weights = list(weights)
    if len(weights) != len(data):
        raise StatisticsError("data and weights must be the same length")
    return fsum([x * w for x, w in zip(data, weights)]) / fsum([float(w) for w in weights])


def geometric_mean(data):
    data = _list(data, 1, "geometric mean requires a non-empty dataset containing positive numbers")
    if any([x <= 0 for x in data]):
        raise StatisticsError("geometric mean requires a non-empty dataset containing positive numbers")
    return math.exp(fsum([math.log(x) for x in data]) / len(data))


def harmonic_mean(data):
    data = _list(data, 1, "harmonic_mean requires at least one data point")
    if any([x < 0 for x in data]):
        raise StatisticsError("harmonic mean does not support negative values")
    if 0 in data:
        return 0
    return len(data) / fsum([1 / x for x in data])


def median(data):
    data = sorted(_list(data, 1, "no median for empty data"))
    n = len(data)
    return data[n // 2] if n % 2 else (data[n // 2 - 1] + data[n // 2]) / 2


def median_low(data):
    data = sorted(_list(data, 1, "no median for empty data"))
    return data[(len(data) - 1) // 2]


def median_high(data):
    data = sorted(_list(data, 1, "no median for empty data"))
    return data[len(data) // 2]


def multimode(data):
    order, counts = [], {}
    for x in data:
        if x not in counts:
            order.append(x)
        counts[x] = counts.get(x, 0) + 1
    most = max(counts.values(), default=0)
    return [x for x in order if counts[x] == most]


def mode(data):
    modes = multimode(data)
    if not modes:
        raise StatisticsError("no mode for empty data")
    return modes[0]


def _squares(data, center):
    if center is None and all([isinstance(x, int) for x in data]):
        n, total = len(data), sum(data)
        return (n * sum([x * x for x in data]) - total * total), n
    c = mean(data) if center is None else center
    return fsum([(x - c) * (x - c) for x in data]), 1


def pvariance(data, mu=None):
    data = _list(data, 1, "pvariance requires at least one data point")
    s, n = _squares(data, mu)
    return _ratio(s, n * len(data))


def variance(data, xbar=None):
    data = _list(data, 2, "variance requires at least two data points")
    s, n = _squares(data, xbar)
    return _ratio(s, n * (len(data) - 1))


def pstdev(data, mu=None):
    return math.sqrt(pvariance(data, mu))


def stdev(data, xbar=None):
    return math.sqrt(variance(data, xbar))


def quantiles(data, n=4, method="exclusive"):
    if n < 1:
        raise StatisticsError("n must be at least 1")
    data = sorted(_list(data, 2, "must have at least two data points"))
    size, out = len(data), []
    for i in range(1, n):
        if method == "inclusive":
            j, d = divmod(i * (size - 1), n)
            out.append((data[j] * (n - d) + data[j + 1] * d) / n)
        else:
            j = min(max(i * (size + 1) // n, 1), size - 1)
            d = i * (size + 1) - j * n
            out.append((data[j - 1] * (n - d) + data[j] * d) / n)
    return out


def covariance(x, y):
    x, y = list(x), list(y)
    if len(x) != len(y) or len(x) < 2:
        raise StatisticsError("covariance requires that both inputs have same number of data points, and at least two")
    a, b = fsum(x) / len(x), fsum(y) / len(y)
    return fsum([(p - a) * (q - b) for p, q in zip(x, y)]) / (len(x) - 1)


def correlation(x, y):
    x, y = list(x), list(y)
    c = covariance(x, y)
    a, b = stdev(x), stdev(y)
    if not a or not b:
        raise StatisticsError("at least one of the inputs is constant")
    return c / (a * b)


def linear_regression(x, y):
    from collections import namedtuple
    x, y = list(x), list(y)
    slope = covariance(x, y) / covariance(x, x)
    return namedtuple("LinearRegression", ("slope", "intercept"))(slope, fmean(y) - slope * fmean(x))
