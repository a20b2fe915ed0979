def twice(n):
    return 2 * n
