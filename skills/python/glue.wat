;; Answers what the interpreter imports from Emscripten's JavaScript, and gives
;; it the exports that Skillet calls. The lines in angle brackets are filled in
;; by Link: the functions of the host, the invoke_ functions, sizes.
(module
  (import "wasi_snapshot_preview1" "clock_time_get" (func $clock_time_get (param i32 i64 i32) (result i32)))
  (import "wasi_snapshot_preview1" "random_get" (func $random_get (param i32 i32) (result i32)))
  (import "skillet:host/v1" "input_length" (func $input_length (result i64)))
  (import "skillet:host/v1" "input_read" (func $input_read (param i32 i64 i32) (result i32)))
  (import "skillet:host/v1" "output_write" (func $output_write (param i32 i32)))
  (import "skillet:host/v1" "error_write" (func $error_write (param i32 i32 i32 i32)))
  (import "skillet:host/v1" "response_read" (func $response_read (param i32 i32)))
  <imports>

  (import "engine" "memory" (memory 0))
  (import "engine" "__indirect_function_table" (table 0 funcref))
  (import "engine" "stack" (global $stack (mut i32)))
  (import "engine" "unwinding" (global $unwinding (mut i32)))
  (import "engine" "__wasm_call_ctors" (func $constructors))
  (import "engine" "setThrew" (func $setThrew (param i32 i32)))
  (import "engine" "malloc" (func $malloc (param i32) (result i32)))
  (import "engine" "mp_js_init" (func $mp_js_init (param i32 i32)))
  (import "engine" "mp_js_do_exec" (func $exec (param i32 i32 i32)))
  (import "engine" "mp_js_do_import" (func $import (param i32 i32)))
  (import "engine" "proxy_c_init" (func $proxy_c_init))
  (import "engine" "proxy_c_to_js_call" (func $proxy_call (param i32 i32 i32 i32)))
  (import "engine" "proxy_c_to_js_lookup_attr" (func $proxy_attribute (param i32 i32 i32)))

  ;; Memory below 64 KiB was the interpreter's stack, which init moves.
  ;; 16: answers of functions of WASI. 32: out, what the interpreter returns.
  ;; 64: args, what it is given. 1016 to 10240: of replaced.wat. What is frozen is between its data and its heap.
  (data (i32.const 128) "__main__\00_enter\00failed\00")
  <data>

  (global $body (mut i32) (i32.const 0))   ;; length of the body of the last response
  (global $enter (mut i32) (i32.const 0))  ;; reference of the driver's function

  ;; A longjmp: leave frames until a function that catches.
  (func (export "_emscripten_throw_longjmp")
    (global.set $unwinding (i32.const 1)))

  (func $catch (param $stack i32)
    (if (global.get $unwinding) (then
      (global.set $unwinding (i32.const 0))
      (global.set $stack (local.get $stack))
      (call $setThrew (i32.const 1) (i32.const 0)))))
  <invokes>

  ;; What the interpreter asks of the machine.
  (func (export "emscripten_resize_heap") (param $size i32) (result i32)
    (i32.ne (i32.const -1) (memory.grow (i32.sub
      (i32.shr_u (i32.add (local.get $size) (i32.const 65535)) (i32.const 16))
      (memory.size)))))
  (func (export "_abort_js") unreachable)
  (func (export "mp_js_random_u32") (result i32)
    (drop (call $random_get (i32.const 16) (i32.const 4)))
    (i32.load (i32.const 16)))
  (func $clock (param $id i32) (result i64)
    (drop (call $clock_time_get (local.get $id) (i64.const 1000) (i32.const 16)))
    (i64.load (i32.const 16)))
  (func (export "mp_js_ticks_ms") (result i32)
    (i32.wrap_i64 (i64.div_u (call $clock (i32.const 1)) (i64.const 1000000))))
  (func (export "mp_js_time_ms") (result f64)
    (f64.div (f64.convert_i64_u (call $clock (i32.const 0))) (f64.const 1000000)))

  ;; Files are the driver's: nothing is found here (ENOENT), all else refused (ENOSYS).
  (func (export "__syscall_stat64") (param i32 i32) (result i32) (i32.const -44))
  (func (export "__syscall_lstat64") (param i32 i32) (result i32) (i32.const -44))
  (func (export "__syscall_openat") (param i32 i32 i32 i32) (result i32) (i32.const -44))
  (func (export "__syscall_newfstatat") (param i32 i32 i32 i32) (result i32) (i32.const -44))
  (func (export "__syscall_chdir") (param i32) (result i32) (i32.const -44))
  (func (export "__syscall_getcwd") (param i32 i32) (result i32)
    (i32.store16 (local.get 0) (i32.const 0x2f)) ;; "/", which its own file system wants at its start
    (i32.const 2))
  (func (export "__syscall_mkdirat") (param i32 i32 i32) (result i32) (i32.const -52))
  (func (export "__syscall_poll") (param i32 i32 i32) (result i32) (i32.const -52))
  (func (export "__syscall_getdents64") (param i32 i32 i32) (result i32) (i32.const -52))
  (func (export "__syscall_renameat") (param i32 i32 i32 i32) (result i32) (i32.const -52))
  (func (export "__syscall_rmdir") (param i32) (result i32) (i32.const -52))
  (func (export "__syscall_fstat64") (param i32 i32) (result i32) (i32.const -52))
  (func (export "__syscall_statfs64") (param i32 i32 i32) (result i32) (i32.const -52))
  (func (export "__syscall_unlinkat") (param i32 i32 i32) (result i32) (i32.const -52))
  (func (export "fd_close") (param i32) (result i32) (i32.const 8))
  (func (export "fd_sync") (param i32) (result i32) (i32.const 8))
  (func (export "fd_seek") (param i32 i64 i32 i32) (result i32) (i32.const 8))
  (func (export "fd_read") (param i32 i32 i32 i32) (result i32) (i32.const 8))

  ;; Objects of JavaScript. There is one, the function that js.skillet is: it
  ;; has the reference 1. A value is three words: kind, and what it holds.
  (func $answer (param $out i32) (param $kind i32) (param $value i32)
    (i32.store (local.get $out) (local.get $kind))
    (i32.store offset=4 (local.get $out) (local.get $value))
    (i32.store offset=8 (local.get $out) (i32.const 0)))
  (func $undefined (param $out i32)
    (call $answer (local.get $out) (i32.const 0) (i32.const 0)))
  (func (export "lookup_attr") (param $object i32) (param $name i32) (param $out i32) (result i32)
    (if (i32.or (local.get $object) (i64.ne (i64.load align=1 (local.get $name)) (i64.const 0x0074656c6c696b73)))
      (then (return (i32.const 0))))
    (call $answer (local.get $out) (i32.const 7) (i32.const 1))
    (i32.const 1))
  (func (export "has_attr") (param i32 i32) (result i32) (i32.const 0))
  (func (export "store_attr") (param i32 i32 i32))
  (func (export "js_subscr_load") (param i32 i32 i32) (call $undefined (local.get 2)))
  (func (export "js_subscr_store") (param i32 i32 i32))
  (func (export "js_get_iter") (param i32 i32) (call $undefined (local.get 1)))
  (func (export "js_iter_next") (param i32 i32) (result i32) (i32.const 0))
  (func (export "js_check_existing") (param i32) (result i32) (i32.const -1))
  (func (export "js_get_error_info") (param i32 i32 i32)
    (call $undefined (local.get 1)) (call $undefined (local.get 2)))
  (func (export "js_get_proxy_js_ref_info") (param i32) (call $undefined (local.get 0)))
  (func (export "js_reflect_construct") (param i32 i32 i32 i32) (call $undefined (local.get 3)))
  (func (export "js_then_resolve") (param i32 i32))
  (func (export "js_then_reject") (param i32 i32))
  (func (export "js_then_continue") (param i32 i32 i32 i32 i32) (call $undefined (local.get 4)))
  (func (export "create_promise") (param i32 i32) (call $undefined (local.get 1)))
  (func (export "proxy_js_free_obj") (param i32))
  (func (export "proxy_convert_mp_to_js_then_js_to_mp_obj_jsside") (param i32) (call $undefined (local.get 0)))
  (func (export "proxy_convert_mp_to_js_then_js_to_js_then_js_to_mp_obj_jsside") (param i32) (call $undefined (local.get 0)))
  (func (export "call0") (param i32 i32) (call $undefined (local.get 1)))
  (func (export "call1") (param i32 i32 i32 i32) (result i32) (call $undefined (local.get 3)) (i32.const 0))
  (func (export "call2") (param i32 i32 i32 i32 i32) (result i32) (call $undefined (local.get 4)) (i32.const 0))
  (func (export "call0_kwarg") (param i32 i32 i32 i32 i32 i32) (call $undefined (local.get 5)))
  (func (export "calln_kwarg") (param i32 i32 i32 i32 i32 i32 i32 i32) (call $undefined (local.get 7)))

  ;; js.skillet(number, ...): number says which function of the host, and the
  ;; others are integers.
  (func (export "calln") (param $object i32) (param $bound i32) (param $n i32) (param $values i32) (param $out i32) (result i32)
    (if (i32.or (i32.ne (local.get $object) (i32.const 1)) (i32.ne (local.get $n) (i32.const 5)))
      (then (call $undefined (local.get $out)) (return (i32.const 0))))
    (call $answer (local.get $out) (i32.const 3) (call $host
      (i32.load offset=4 (local.get $values)) (i32.load offset=16 (local.get $values))
      (i32.load offset=28 (local.get $values)) (i32.load offset=40 (local.get $values))
      (i32.load offset=52 (local.get $values))))
    (i32.const 0))
  (func $host (param $number i32) (param $a i32) (param $b i32) (param $c i32) (param $d i32) (result i32)
    (local $lengths i64)
    block $other block $random block $body block $response block $error block $output block $input block $length
      (br_table $length $input $output $error $response $body $random $other (local.get $number))
    end
      (return (i32.wrap_i64 (call $input_length)))
    end
      (return (call $input_read (local.get $a) (i64.extend_i32_u (local.get $b)) (local.get $c)))
    end
      (call $output_write (local.get $a) (local.get $b))
      (return (i32.const 0))
    end
      (call $error_write (local.get $a) (local.get $b) (local.get $c) (local.get $d))
      (return (i32.const 0))
    end
      (call $response_read (local.get $a) (local.get $b))
      (return (i32.const 0))
    end
      (return (global.get $body))
    end
      (return (call $random_get (local.get $a) (local.get $b)))
    end
    <calls>
    (global.set $body (i32.wrap_i64 (local.get $lengths)))
    (i32.wrap_i64 (i64.shr_u (local.get $lengths) (i64.const 32))))

  ;; init makes the interpreter and runs the driver.
  (func (export "init") (result i32)
    (local $base i32)
    (i32.store (i32.const <break>) (i32.const <free>))
    (call $constructors)
    (local.set $base (i32.and (i32.add (call $malloc (i32.const <stacks+15>)) (i32.const 15)) (i32.const -16)))
    (global.set $stack (i32.add (local.get $base) (i32.const <stack>)))
    (call $mp_js_init (i32.const 512) (i32.const <heap>))
    ;; The interpreter's stack begins where the one of C ends, so that the
    ;; collector finds both when it is shown the first from there on.
    (i32.store (i32.const <state+8>) (global.get $stack))
    (i32.store (i32.const <state+16>) (global.get $stack))
    (i32.store (i32.const <state+12>) (i32.add (local.get $base) (i32.const <stacks>)))
    (i32.store (i32.const <state+4>) (i32.const <limit>))
    (i32.store (i32.const <state+940>) (i32.const -1))
    (call $proxy_c_init)
    (call $exec (i32.const <driver>) (i32.const <driverLength>) (i32.const 32))
    (memory.fill (i32.const <driver>) (i32.const 0) (i32.const <driverLength>))
    (if (call $failed) (then (return (i32.const 1))))
    (call $import (i32.const 128) (i32.const 32))
    (if (call $failed) (then (return (i32.const 1))))
    (call $proxy_attribute (i32.load (i32.const 36)) (i32.const 137) (i32.const 32))
    (if (call $failed) (then (return (i32.const 1))))
    (global.set $enter (i32.load (i32.const 36)))
    (i32.const 0))

  ;; failed reports an exception that the driver did not catch.
  (func $failed (result i32)
    (if (i32.ne (i32.load (i32.const 32)) (i32.const -1)) (then (return (i32.const 0))))
    (call $error_write (i32.const 144) (i32.const 6) (i32.load (i32.const 40)) (i32.load (i32.const 36)))
    (i32.const 1))

  ;; enter calls the driver's function with a number, and returns what it does.
  (func $call (param $number i32) (result i32)
    (call $answer (i32.const 64) (i32.const 3) (local.get $number))
    (call $proxy_call (global.get $enter) (i32.const 1) (i32.const 64) (i32.const 32))
    (if (call $failed) (then (return (i32.const 1))))
    (i32.load (i32.const 36)))
  <exports>
)
