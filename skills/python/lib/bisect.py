def bisect_left(a, x, lo=0, hi=None, key=None):
    hi = len(a) if hi is None else hi
    while lo < hi:
        mid = (lo + hi) // 2
        if (key(a[mid]) if key else a[mid]) < x:
            lo = mid + 1
        else:
            hi = mid
    return lo


def bisect_right(a, x, lo=0, hi=None, key=None):
    hi = len(a) if hi is None else hi
    while lo < hi:
        mid = (lo + hi) // 2
        if x < (key(a[mid]) if key else a[mid]):
            hi = mid
        else:
            lo = mid + 1
    return lo


def insort_left(a, x, lo=0, hi=None, key=None):
    a.insert(bisect_left(a, key(x) if key else x, lo, hi, key), x)


def insort_right(a, x, lo=0, hi=None, key=None):
    a.insert(bisect_right(a, key(x) if key else x, lo, hi, key), x)


bisect, insort = bisect_right, insort_right
