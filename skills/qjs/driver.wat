;; The driver of QuickJS: it answers what the engine imports, gives the prelude
;; a few functions that JavaScript cannot have of itself, and passes each call to
;; the function the prelude ended with. It has no memory of its own but what it
;; asks the engine for.
(module
  (import "engine" "memory" (memory 1))
  (import "engine" "qjs_init" (func $qjs_init (result i32)))
  (import "engine" "qjs_set_max_stack_size" (func $qjs_set_max_stack_size (param i32)))
  (import "engine" "qjs_eval" (func $qjs_eval (param i32 i32 i32 i32) (result i32)))
  (import "engine" "qjs_call" (func $qjs_call (param i32 i32 i32 i32) (result i32)))
  (import "engine" "qjs_get_global" (func $qjs_get_global (result i32)))
  (import "engine" "qjs_get_undefined" (func $qjs_get_undefined (result i32)))
  (import "engine" "qjs_get_exception" (func $qjs_get_exception (result i32)))
  (import "engine" "qjs_is_exception" (func $qjs_is_exception (param i32) (result i32)))
  (import "engine" "qjs_new_object" (func $qjs_new_object (result i32)))
  (import "engine" "qjs_new_number" (func $qjs_new_number (param f64) (result i32)))
  (import "engine" "qjs_new_string" (func $qjs_new_string (param i32 i32) (result i32)))
  (import "engine" "qjs_new_array_buffer" (func $qjs_new_array_buffer (param i32 i32) (result i32)))
  (import "engine" "qjs_new_host_function" (func $qjs_new_host_function (param i32 i32 i32) (result i32)))
  (import "engine" "qjs_set_prop_string" (func $qjs_set_prop_string (param i32 i32 i32) (result i32)))
  (import "engine" "qjs_get_float64" (func $qjs_get_float64 (param i32) (result f64)))
  (import "engine" "qjs_get_string_len" (func $qjs_get_string_len (param i32 i32) (result i32)))
  (import "engine" "qjs_free_cstring" (func $qjs_free_cstring (param i32)))
  (import "engine" "qjs_free_value" (func $qjs_free_value (param i32)))
  (import "engine" "qjs_get_array_buffer" (func $qjs_get_array_buffer (param i32 i32) (result i32)))
  (import "engine" "qjs_is_job_pending" (func $qjs_is_job_pending (result i32)))
  (import "engine" "qjs_execute_pending_job" (func $qjs_execute_pending_job (result i32)))
  (import "engine" "qjs_run_gc" (func $qjs_run_gc))
  (import "engine" "qjs_get_context_ptr" (func $qjs_get_context_ptr (result i32)))
  (import "engine" "JS_ThrowOutOfMemory" (func $throw_out_of_memory (param i32) (result i64)))
  (import "engine" "wasm_malloc" (func $malloc (param i32) (result i32)))
  (import "engine" "wasm_free" (func $free (param i32)))

  (import "wasi_snapshot_preview1" "random_get" (func $random_get (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "clock_time_get" (func $clock_time_get (param i32 i64 i32) (result i32)))

  (import "skillet:host/v1" "input_length" (func $input_length (result i64)))
  (import "skillet:host/v1" "input_read" (func $input_read (param i32 i64 i32) (result i32)))
  (import "skillet:host/v1" "output_write" (func $output_write (param i32 i32)))
  (import "skillet:host/v1" "error_write" (func $error_write (param i32 i32 i32 i32)))
  (import "skillet:host/v1" "response_read" (func $response_read (param i32 i32)))

  ;; Those of the one shape, which are written by Link.
<imports>
  (global $dispatch (mut i32) (i32.const 0)) ;; the function the prelude ends with
  (global $room (mut i32) (i32.const 0))     ;; 64 bytes for what is small
  (global $meta (mut i32) (i32.const 0))     ;; length of the last answer's meta

  (data $exhausted "limitout of memory")

  ;; ---- what the engine imports

  (func (export "host_get_timezone_offset") (param i32 i32) (result i32) (i32.const 0))
  (func (export "host_interrupt") (result i32) (i32.const 0))
  (func (export "host_promise_rejection") (param $promise i32) (param $reason i32) (param i32)
    (call $qjs_free_value (local.get $promise))
    (call $qjs_free_value (local.get $reason)))
  (func (export "host_module_normalize") (param i32 i32) (result i32) (i32.const 0))
  (func (export "host_module_load") (param i32 i32) (result i32) (i32.const 0))

  ;; A function of the prelude was called: its name is one letter. The result is
  ;; a value, or 0 when an exception is set.
  (func (export "host_call") (param $name i32) (param $length i32) (param $this i32) (param $argc i32) (param $argv i32) (result i32)
    (local $op i32)
    (local.set $op (i32.load8_u (local.get $name)))
    (if (i32.eq (local.get $op) (i32.const 99)) (then (return (call $op_call (local.get $argv)))))        ;; c
    (if (i32.eq (local.get $op) (i32.const 109)) (then (return (call $qjs_new_number (f64.convert_i32_u (global.get $meta)))))) ;; m
    (if (i32.eq (local.get $op) (i32.const 105)) (then (return (call $op_input))))                        ;; i
    (if (i32.eq (local.get $op) (i32.const 111)) (then (return (call $op_output (local.get $argv)))))     ;; o
    (if (i32.eq (local.get $op) (i32.const 101)) (then (return (call $op_error (local.get $argv)))))      ;; e
    (if (i32.eq (local.get $op) (i32.const 100)) (then (return (call $op_decode (local.get $argv)))))     ;; d
    (if (i32.eq (local.get $op) (i32.const 115)) (then (return (call $op_encode (local.get $argv)))))     ;; s
    (if (i32.eq (local.get $op) (i32.const 114)) (then (return (call $op_random (local.get $argv)))))     ;; r
    (if (i32.eq (local.get $op) (i32.const 116)) (then (return (call $op_time))))                         ;; t
    (if (i32.eq (local.get $op) (i32.const 118)) (then (return (call $op_eval (local.get $argv)))))       ;; v
    (if (i32.eq (local.get $op) (i32.const 106)) (then (return (call $op_jobs))))                         ;; j
    (call $qjs_run_gc)                                                                                    ;; g
    (call $qjs_get_undefined))

  ;; ---- arguments and results

  (func $argument (param $argv i32) (param $i i32) (result i32)
    (i32.load (i32.add (local.get $argv) (i32.shl (local.get $i) (i32.const 2)))))

  (func $number (param $argv i32) (param $i i32) (result i32)
    (i32.trunc_sat_f64_u (call $qjs_get_float64 (call $argument (local.get $argv) (local.get $i)))))

  ;; The text of a string argument; its length is at $room. 0 with an exception.
  (func $text (param $argv i32) (param $i i32) (result i32)
    (call $qjs_get_string_len (call $argument (local.get $argv) (local.get $i)) (global.get $room)))

  ;; Room for n bytes and one that is 0, or 0 with an exception.
  (func $take (param $n i32) (result i32) (local $p i32)
    (local.set $p (call $malloc (i32.add (local.get $n) (i32.const 1))))
    (if (i32.eqz (local.get $p)) (then
      (drop (call $throw_out_of_memory (call $qjs_get_context_ptr)))
      (return (i32.const 0))))
    (i32.store8 (i32.add (local.get $p) (local.get $n)) (i32.const 0))
    (local.get $p))

  ;; An ArrayBuffer of n bytes at p, which are freed; or 0 with an exception.
  (func $buffer (param $p i32) (param $n i32) (result i32) (local $v i32)
    (local.set $v (call $qjs_new_array_buffer (local.get $p) (local.get $n)))
    (call $free (local.get $p))
    (call $checked (local.get $v)))

  ;; A value, or 0 if it says that an exception is set.
  (func $checked (param $v i32) (result i32)
    (if (i32.eqz (local.get $v)) (then (return (i32.const 0))))
    (if (call $qjs_is_exception (local.get $v)) (then
      (call $qjs_free_value (local.get $v))
      (return (i32.const 0))))
    (local.get $v))

  ;; ---- the functions of the prelude

  ;; The input as a string.
  (func $op_input (result i32) (local $n i32) (local $p i32) (local $v i32)
    (local.set $n (i32.wrap_i64 (call $input_length)))
    (local.set $p (call $take (local.get $n)))
    (if (i32.eqz (local.get $p)) (then (return (i32.const 0))))
    (local.set $n (call $input_read (local.get $p) (i64.const 0) (local.get $n)))
    (local.set $v (call $qjs_new_string (local.get $p) (local.get $n)))
    (call $free (local.get $p))
    (call $checked (local.get $v)))

  ;; o(text): appends to the output.
  (func $op_output (param $argv i32) (result i32) (local $p i32)
    (local.set $p (call $text (local.get $argv) (i32.const 0)))
    (if (i32.eqz (local.get $p)) (then (return (i32.const 0))))
    (call $output_write (local.get $p) (i32.load (global.get $room)))
    (call $qjs_free_cstring (local.get $p))
    (call $qjs_get_undefined))

  ;; e(kind, message): sets the error of the call.
  (func $op_error (param $argv i32) (result i32) (local $kind i32) (local $n i32) (local $p i32)
    (local.set $kind (call $text (local.get $argv) (i32.const 0)))
    (if (i32.eqz (local.get $kind)) (then (return (i32.const 0))))
    (local.set $n (i32.load (global.get $room)))
    (local.set $p (call $text (local.get $argv) (i32.const 1)))
    (if (local.get $p) (then
      (call $error_write (local.get $kind) (local.get $n) (local.get $p) (i32.load (global.get $room)))
      (call $qjs_free_cstring (local.get $p))))
    (call $qjs_free_cstring (local.get $kind))
    (if (i32.eqz (local.get $p)) (then (return (i32.const 0))))
    (call $qjs_get_undefined))

  ;; The bytes of arguments i to i+2 (buffer, offset, length), which are within
  ;; the buffer, or 0.
  (func $bytes (param $argv i32) (param $i i32) (result i32) (local $p i32) (local $off i32)
    (local.set $p (call $qjs_get_array_buffer (call $argument (local.get $argv) (local.get $i)) (global.get $room)))
    (local.set $off (call $number (local.get $argv) (i32.add (local.get $i) (i32.const 1))))
    (if (i64.gt_u
          (i64.add (i64.extend_i32_u (local.get $off))
                   (i64.extend_i32_u (call $number (local.get $argv) (i32.add (local.get $i) (i32.const 2)))))
          (i64.extend_i32_u (i32.load (global.get $room))))
      (then (return (i32.const 0))))
    (i32.add (local.get $p) (local.get $off)))

  ;; d(buffer, offset, length): a string of UTF-8.
  (func $op_decode (param $argv i32) (result i32)
    (call $checked (call $qjs_new_string (call $bytes (local.get $argv) (i32.const 0)) (call $number (local.get $argv) (i32.const 2)))))

  ;; s(text): an ArrayBuffer of UTF-8.
  (func $op_encode (param $argv i32) (result i32) (local $p i32) (local $v i32)
    (local.set $p (call $text (local.get $argv) (i32.const 0)))
    (if (i32.eqz (local.get $p)) (then (return (i32.const 0))))
    (local.set $v (call $qjs_new_array_buffer (local.get $p) (i32.load (global.get $room))))
    (call $qjs_free_cstring (local.get $p))
    (call $checked (local.get $v)))

  ;; r(n): n random bytes.
  (func $op_random (param $argv i32) (result i32) (local $n i32) (local $p i32)
    (local.set $n (call $number (local.get $argv) (i32.const 0)))
    (local.set $p (call $take (local.get $n)))
    (if (i32.eqz (local.get $p)) (then (return (i32.const 0))))
    (if (call $random_get (local.get $p) (local.get $n)) (then unreachable))
    (call $buffer (local.get $p) (local.get $n)))

  ;; t(): the monotonic clock in nanoseconds.
  (func $op_time (result i32)
    (if (call $clock_time_get (i32.const 1) (i64.const 1) (global.get $room)) (then unreachable))
    (call $qjs_new_number (f64.convert_i64_u (i64.load (global.get $room)))))

  ;; v(code, file): runs a script, and returns its value.
  (func $op_eval (param $argv i32) (result i32) (local $code i32) (local $n i32) (local $file i32) (local $v i32)
    (local.set $code (call $text (local.get $argv) (i32.const 0)))
    (if (i32.eqz (local.get $code)) (then (return (i32.const 0))))
    (local.set $n (i32.load (global.get $room)))
    (local.set $file (call $text (local.get $argv) (i32.const 1)))
    (if (local.get $file) (then
      (local.set $v (call $qjs_eval (local.get $code) (local.get $n) (local.get $file) (i32.const 0)))
      (call $qjs_free_cstring (local.get $file))))
    (call $qjs_free_cstring (local.get $code))
    (call $checked (local.get $v)))

  ;; j(): runs what waits in the queue of promises, until nothing does.
  (func $op_jobs (result i32)
    (loop $next
      (if (call $qjs_is_job_pending) (then
        (if (i32.lt_s (call $qjs_execute_pending_job) (i32.const 0)) (then
          (call $qjs_free_value (call $qjs_get_exception))))
        (br $next))))
    (call $qjs_get_undefined))

  ;; c(function, meta, buffer, offset, length): calls the host. The result is one
  ;; ArrayBuffer of the answer's meta and body; m() is the length of the meta.
  (func $op_call (param $argv i32) (result i32)
    (local $meta i32) (local $n i32) (local $body i32) (local $size i32) (local $both i64) (local $p i32)
    (local.set $size (call $number (local.get $argv) (i32.const 4)))
    (if (local.get $size) (then (local.set $body (call $bytes (local.get $argv) (i32.const 2)))))
    (local.set $meta (call $text (local.get $argv) (i32.const 1)))
    (if (i32.eqz (local.get $meta)) (then (return (i32.const 0))))
    (local.set $n (i32.load (global.get $room)))
    (local.set $both (call $host (call $number (local.get $argv) (i32.const 0))
      (local.get $meta) (local.get $n) (local.get $body) (local.get $size)))
    (call $qjs_free_cstring (local.get $meta))
    (global.set $meta (i32.wrap_i64 (i64.shr_u (local.get $both) (i64.const 32))))
    (local.set $n (i32.wrap_i64 (local.get $both)))
    (local.set $p (call $take (i32.add (global.get $meta) (local.get $n))))
    (if (i32.eqz (local.get $p)) (then (return (i32.const 0))))
    (call $response_read (local.get $p) (i32.add (local.get $p) (global.get $meta)))
    (call $buffer (local.get $p) (i32.add (global.get $meta) (local.get $n))))

  (func $host (param $f i32) (param $m i32) (param $n i32) (param $b i32) (param $s i32) (result i64)
<calls>)

  ;; ---- what the host calls

  ;; Starts the engine and runs the prelude, which is the input.
  (func (export "init") (result i32) (local $native i32) (local $global i32) (local $p i32) (local $n i32)
    (if (call $qjs_init) (then (return (i32.const 1))))
    (call $qjs_set_max_stack_size (i32.const 524288)) ;; half of what the module has
    (global.set $room (call $malloc (i32.const 64)))
    (local.set $native (call $qjs_new_object))
    (local.set $n (i32.const 97)) ;; a to z
    (loop $letter
      (i32.store (global.get $room) (local.get $n))
      (local.set $p (call $qjs_new_host_function (global.get $room) (i32.const 1) (i32.const 0)))
      (drop (call $qjs_set_prop_string (local.get $native) (global.get $room) (local.get $p)))
      (call $qjs_free_value (local.get $p))
      (local.set $n (i32.add (local.get $n) (i32.const 1)))
      (br_if $letter (i32.le_u (local.get $n) (i32.const 122))))
    (local.set $global (call $qjs_get_global))
    (i32.store (global.get $room) (i32.const 0x6e5f5f)) ;; "__n"
    (drop (call $qjs_set_prop_string (local.get $global) (global.get $room) (local.get $native)))
    (call $qjs_free_value (local.get $native))
    (call $qjs_free_value (local.get $global))
    (local.set $n (i32.wrap_i64 (call $input_length)))
    (local.set $p (call $take (local.get $n)))
    (if (i32.eqz (local.get $p)) (then (return (call $report))))
    (drop (call $input_read (local.get $p) (i64.const 0) (local.get $n)))
    (i64.store (global.get $room) (i64.const 0x6564756c657270)) ;; "prelude"
    (global.set $dispatch (call $checked (call $qjs_eval (local.get $p) (local.get $n) (global.get $room) (i32.const 0))))
    (call $free (local.get $p))
    (if (i32.eqz (global.get $dispatch)) (then (return (call $report))))
    (call $qjs_run_gc)
    (i32.const 0))

  ;; Sets the error of the call to the exception that is set.
  (func $report (result i32) (local $e i32) (local $p i32)
    (local.set $e (call $qjs_get_exception))
    (local.set $p (call $qjs_get_string_len (local.get $e) (i32.add (global.get $room) (i32.const 8))))
    (memory.init $exhausted (i32.add (global.get $room) (i32.const 16)) (i32.const 0) (i32.const 18))
    (if (local.get $p)
      (then (call $error_write (i32.const 0) (i32.const 0) (local.get $p) (i32.load offset=8 (global.get $room))))
      (else (call $error_write (i32.add (global.get $room) (i32.const 16)) (i32.const 5) (i32.add (global.get $room) (i32.const 21)) (i32.const 13))))
    (i32.const 1))

  (func $enter (param $op i32) (result i32) (local $arg i32) (local $v i32)
    (local.set $arg (call $qjs_new_number (f64.convert_i32_s (local.get $op))))
    (i32.store offset=60 (global.get $room) (local.get $arg))
    (local.set $v (call $checked (call $qjs_call (global.get $dispatch) (call $qjs_get_undefined) (i32.const 1)
      (i32.add (global.get $room) (i32.const 60)))))
    (if (i32.eqz (local.get $v)) (then (return (call $report))))
    (local.set $op (i32.trunc_sat_f64_s (call $qjs_get_float64 (local.get $v))))
    (call $qjs_free_value (local.get $v))
    (call $qjs_free_value (local.get $arg))
    (local.get $op))

  (func (export "load") (result i32) (call $enter (i32.const -1)))
  (func (export "eval") (result i32) (call $enter (i32.const -2)))
)
