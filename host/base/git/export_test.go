package git

// Unpack is unpack, for tests.
var Unpack = unpack
