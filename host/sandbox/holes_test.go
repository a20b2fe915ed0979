package sandbox_test

const holeEnv = "SKILLET_OPEN_HOLE"

var openHoles = map[string]func(){}
