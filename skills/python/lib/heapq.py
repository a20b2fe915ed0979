from uheapq import heapify, heappop, heappush


def heappushpop(heap, item):
    heappush(heap, item)
    return heappop(heap)


def heapreplace(heap, item):
    top = heappop(heap)
    heappush(heap, item)
    return top


def nsmallest(n, iterable, key=None):
    return sorted(iterable, key=key)[:max(n, 0)]


def nlargest(n, iterable, key=None):
    return sorted(iterable, key=key, reverse=True)[:max(n, 0)]


def merge(*iterables, key=None, reverse=False):
    return iter(sorted([x for it in iterables for x in it], key=key, reverse=reverse))
