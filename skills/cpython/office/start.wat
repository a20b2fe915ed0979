  ;; CPython is a reactor. Each of what it was linked from is started by itself, and
  ;; what the parts that were cut away would do at the start is left out.
  (func $begin (local $stack i32)
    (call $environ)
    (call $allocator)
    <modules>
    (call $initialize)
    (local.set $stack (global.get $stack))
    (global.set $stack (i32.sub (local.get $stack) (i32.const 256)))
    (memory.init $boot (global.get $stack) (i32.const 0) (i32.const <bootBytes>))
    (call $run (global.get $stack))
    (global.set $stack (local.get $stack)))
  (data $boot "<boot>")

  ;; What the text does not catch is the end of the program.
  (func $run_string (param $text i32) (param $flags i32) (result i32)
    (call $run (local.get $text))
    (i32.const 0))

  ;; The host of the build, which this is not: there is nobody to call.
  (func (export "call") (param i32 i32 i32 i32) (result i32) (i32.const 1))
