;; Stands between CPython and the host: this module starts it, has it run the prelude,
;; and calls back in for each call. The lines in angle brackets are filled in by Link;
;; those of start.wat say how CPython is started.
;;
;; The prelude asks the host by descriptors that have no such use of their own: it
;; writes a request to standard input (0) and reads the answer from standard
;; output (1).
(module
  (import "wasi_snapshot_preview1" "fd_close" (func $wasi_close (param i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_fdstat_get" (func $wasi_fdstat (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_filestat_get" (func $wasi_filestat (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_prestat_get" (func $wasi_prestat (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_prestat_dir_name" (func $wasi_prestat_name (param i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_read" (func $wasi_read (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_write" (func $wasi_write (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "path_create_directory" (func $wasi_mkdir (param i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "path_filestat_get" (func $wasi_path_stat (param i32 i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "path_filestat_set_times" (func $wasi_path_times (param i32 i32 i32 i32 i64 i64 i32) (result i32)))
  (import "wasi_snapshot_preview1" "path_open" (func $wasi_open (param i32 i32 i32 i32 i32 i64 i64 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "path_readlink" (func $wasi_readlink (param i32 i32 i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "path_remove_directory" (func $wasi_rmdir (param i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "path_rename" (func $wasi_rename (param i32 i32 i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "path_unlink_file" (func $wasi_unlink (param i32 i32 i32) (result i32)))
  (import "skillet:host/v1" "input_length" (func $input_length (result i64)))
  (import "skillet:host/v1" "input_read" (func $input_read (param i32 i64 i32) (result i32)))
  (import "skillet:host/v1" "output_write" (func $output_write (param i32 i32)))
  (import "skillet:host/v1" "error_write" (func $error_write (param i32 i32 i32 i32)))
  (import "skillet:host/v1" "response_read" (func $response_read (param i32 i32)))
  <imports>

  (import "engine" "memory" (memory 0))
  (import "engine" "stack" (global $stack (mut i32)))
  <engine>

  ;; The command line of the start, each argument with a zero behind it.
  (data $arguments "<arguments>")

  (global $started (mut i32) (i32.const 0))  ;; the prelude has run
  (global $ready (mut i32) (i32.const 0))    ;; it says that it has
  (global $program (mut i32) (i32.const 0))  ;; standard output is the output
  (global $at (mut i64) (i64.const 0))       ;; how much of the input was read
  (global $meta (mut i32) (i32.const 0))     ;; lengths of the answer that waits
  (global $body (mut i32) (i32.const 0))
  (global $waits (mut i32) (i32.const 0))    ;; an answer waits

  ;; What $find has found: a directory, and a path in it.
  (global $dir (mut i32) (i32.const 0))
  (global $path (mut i32) (i32.const 0))
  (global $length (mut i32) (i32.const 0))

  ;; load loads a program, which is the input. Called first, it starts CPython and
  ;; runs the prelude, which is the input then.
  (func (export "load") (result i32)
    (if (global.get $started) (then (return (call $call (i64.const <load>)))))
    (call $begin)
    (global.set $started (global.get $ready))
    (i32.eqz (global.get $ready)))

  <start>

  ;; call runs a line of Python of at most 7 bytes, which ends with the call.
  (func $call (param $line i64) (result i32) (local $stack i32) (local $code i32)
    (global.set $ready (i32.const 0))
    (global.set $program (i32.const 0))
    (global.set $at (i64.const 0))
    (local.set $stack (global.get $stack))
    (global.set $stack (i32.sub (local.get $stack) (i32.const 16)))
    (i64.store (global.get $stack) (local.get $line))
    (local.set $code (call $run_string (global.get $stack) (i32.const 0)))
    (global.set $stack (local.get $stack))
    (if (local.get $code) (then (return (i32.const 1))))
    (global.get $code))
  (global $code (mut i32) (i32.const 0)) ;; result of the call

  ;; ---- the command line and the environment of the start

  (func (export "args_sizes_get") (param $n i32) (param $size i32) (result i32)
    (i32.store (local.get $n) (i32.const <argumentCount>))
    (i32.store (local.get $size) (i32.const <argumentBytes>))
    (i32.const 0))
  (func (export "args_get") (param $list i32) (param $text i32) (result i32)
    (memory.init $arguments (local.get $text) (i32.const 0) (i32.const <argumentBytes>))
    <placeArguments>
    (i32.const 0))
  ;; The one variable is at the end of the arguments.
  (func (export "environ_sizes_get") (param $n i32) (param $size i32) (result i32)
    (i32.store (local.get $n) (i32.const 1))
    (i32.store (local.get $size) (i32.const <environmentBytes>))
    (i32.const 0))
  (func (export "environ_get") (param $list i32) (param $text i32) (result i32)
    (memory.init $arguments (local.get $text) (i32.const <argumentBytes>) (i32.const <environmentBytes>))
    (i32.store (local.get $list) (local.get $text))
    (i32.const 0))

  ;; ---- streams, and the way to the host

  (func (export "fd_write") (param $fd i32) (param $parts i32) (param $n i32) (param $done i32) (result i32)
    (local $sum i32)
    (if (i32.eqz (local.get $fd)) (then
      (return (call $request (i32.load (local.get $parts)) (i32.load offset=4 (local.get $parts)) (local.get $done)))))
    (if (i32.or (i32.ne (local.get $fd) (i32.const 1)) (i32.eqz (global.get $program)))
      (then (return (call $wasi_write (local.get $fd) (local.get $parts) (local.get $n) (local.get $done)))))
    (loop $next
      (if (local.get $n) (then
        (call $output_write (i32.load (local.get $parts)) (i32.load offset=4 (local.get $parts)))
        (local.set $sum (i32.add (local.get $sum) (i32.load offset=4 (local.get $parts))))
        (local.set $parts (i32.add (local.get $parts) (i32.const 8)))
        (local.set $n (i32.sub (local.get $n) (i32.const 1)))
        (br $next))))
    (i32.store (local.get $done) (local.get $sum))
    (i32.const 0))

  (func (export "fd_read") (param $fd i32) (param $parts i32) (param $n i32) (param $done i32) (result i32)
    (local $to i32) (local $got i32)
    (if (i32.gt_u (local.get $fd) (i32.const 1))
      (then (return (call $wasi_read (local.get $fd) (local.get $parts) (local.get $n) (local.get $done)))))
    (local.set $to (i32.load (local.get $parts)))
    (if (local.get $fd)
      (then
        (local.set $got (call $waiting))
        (if (i32.or (i32.eqz (global.get $waits)) (i32.lt_u (i32.load offset=4 (local.get $parts)) (local.get $got)))
          (then (return (i32.const 8))))
        (i32.store (local.get $to) (global.get $meta))
        (local.set $to (i32.add (local.get $to) (i32.const 4)))
        (call $response_read (local.get $to) (i32.add (local.get $to) (global.get $meta)))
        (global.set $waits (i32.const 0)))
      (else
        (local.set $got (call $input_read (local.get $to) (global.get $at) (i32.load offset=4 (local.get $parts))))
        (global.set $at (i64.add (global.get $at) (i64.extend_i32_u (local.get $got))))))
    (i32.store (local.get $done) (local.get $got))
    (i32.const 0))

  ;; A request is three words - which, and the lengths of two texts - and the texts.
  ;; What would be how much was written is its result. Errors: EBADF.
  (func $request (param $from i32) (param $size i32) (param $done i32) (result i32)
    (local $which i32) (local $a i32) (local $n i32) (local $b i32) (local $m i32)
    (if (i32.lt_u (local.get $size) (i32.const 12)) (then (return (i32.const 8))))
    (local.set $which (i32.load (local.get $from)))
    (local.set $n (i32.load offset=4 (local.get $from)))
    (local.set $m (i32.load offset=8 (local.get $from)))
    (if (i64.ne (i64.extend_i32_u (local.get $size))
          (i64.add (i64.const 12) (i64.add (i64.extend_i32_u (local.get $n)) (i64.extend_i32_u (local.get $m)))))
      (then (return (i32.const 8))))
    (local.set $a (i32.add (local.get $from) (i32.const 12)))
    (local.set $b (i32.add (local.get $a) (local.get $n)))
    (local.set $size (i32.const 0))
    (if (i32.ge_u (local.get $which) (i32.const <requests>)) (then (return (i32.const 8))))
    block $done block $host block $ready block $program block $code block $error block $output block $length
      (br_table $length $output $error $code $program $ready $host (local.get $which))
    end
      (local.set $size (i32.wrap_i64 (call $input_length)))
      (br $done)
    end
      (call $output_write (local.get $a) (local.get $n))
      (br $done)
    end
      (call $error_write (local.get $a) (local.get $n) (local.get $b) (local.get $m))
      (br $done)
    end
      (global.set $code (i32.load (local.get $a)))
      (br $done)
    end
      (global.set $program (i32.const 1))
      (br $done)
    end
      (global.set $ready (i32.const 1))
      (br $done)
    end
      (local.set $size (call $host (i32.sub (local.get $which) (i32.const <firstHostFunction>))
        (local.get $a) (local.get $n) (local.get $b) (local.get $m)))
    end
    (i32.store (local.get $done) (local.get $size))
    (i32.const 0))

  ;; host calls a function of the host and returns how long what is to be read is.
  (func $host (param $f i32) (param $a i32) (param $n i32) (param $b i32) (param $m i32) (result i32)
    (local $lengths i64)
    (local.set $lengths (call $host_call (local.get $f) (local.get $a) (local.get $n) (local.get $b) (local.get $m)))
    (global.set $waits (i32.const 1))
    (global.set $meta (i32.wrap_i64 (i64.shr_u (local.get $lengths) (i64.const 32))))
    (global.set $body (i32.wrap_i64 (local.get $lengths)))
    (call $waiting))
  ;; waiting is how many bytes the answer that waits has: the length of the first of
  ;; its two texts, and both.
  (func $waiting (result i32)
    (i32.add (i32.const 4) (i32.add (global.get $meta) (global.get $body))))
  (func $host_call (param $f i32) (param $a i32) (param $n i32) (param $b i32) (param $m i32) (result i64)
    <calls>
    unreachable)

  ;; ---- files
  ;;
  ;; The C library looks once, when it starts, which directories there are. It is
  ;; shown one, the root, as descriptor 3; which of those that a call really has
  ;; holds a path is looked up each time. Errors: ENOENT (44) in none.

  (func (export "fd_prestat_get") (param $fd i32) (param $out i32) (result i32)
    (if (i32.ne (local.get $fd) (i32.const 3)) (then (return (i32.const 8))))
    (i64.store (local.get $out) (i64.const 0x100000000))
    (i32.const 0))
  (func (export "fd_prestat_dir_name") (param $fd i32) (param $out i32) (param $n i32) (result i32)
    (if (i32.ne (local.get $fd) (i32.const 3)) (then (return (i32.const 8))))
    (i32.store8 (local.get $out) (i32.const 47))
    (i32.const 0))
  (func (export "fd_close") (param $fd i32) (result i32)
    (if (i32.eq (local.get $fd) (i32.const 3)) (then (return (i32.const 0))))
    (call $wasi_close (local.get $fd)))
  (func (export "fd_fdstat_get") (param $fd i32) (param $out i32) (result i32)
    (if (i32.ne (local.get $fd) (i32.const 3)) (then (return (call $wasi_fdstat (local.get $fd) (local.get $out)))))
    (i64.store (local.get $out) (i64.const 3))
    (i64.store offset=8 (local.get $out) (i64.const 0x1fffffff))
    (i64.store offset=16 (local.get $out) (i64.const 0x1fffffff))
    (i32.const 0))
  (func (export "fd_filestat_get") (param $fd i32) (param $out i32) (result i32)
    (if (i32.ne (local.get $fd) (i32.const 3)) (then (return (call $wasi_filestat (local.get $fd) (local.get $out)))))
    (memory.fill (local.get $out) (i32.const 0) (i32.const 64))
    (i64.store offset=16 (local.get $out) (i64.const 3))
    (i64.store offset=24 (local.get $out) (i64.const 1))
    (i32.const 0))

  ;; find looks for the directory that holds a path of the root, which is set in
  ;; $dir, $path and $length. A path of another directory is left as it is.
  (func $find (param $fd i32) (param $path i32) (param $length i32) (result i32)
    (local $stack i32) (local $name i32) (local $n i32) (local $best i32) (local $errno i32)
    (global.set $dir (local.get $fd))
    (global.set $path (local.get $path))
    (global.set $length (local.get $length))
    (if (i32.ne (local.get $fd) (i32.const 3)) (then (return (i32.const 0))))
    (local.set $best (i32.const -1))
    (local.set $stack (global.get $stack))
    (global.set $stack (i32.sub (local.get $stack) (i32.const 16)))
    (block $end (loop $next
      (br_if $end (call $wasi_prestat (local.get $fd) (global.get $stack)))
      (local.set $n (i32.load offset=4 (global.get $stack)))
      (global.set $stack (i32.and (i32.sub (global.get $stack) (local.get $n)) (i32.const -16)))
      (local.set $name (global.get $stack))
      (local.set $errno (call $wasi_prestat_name (local.get $fd) (local.get $name) (local.get $n)))
      (if (i32.eqz (local.get $errno)) (then
        ;; without its slash; the root has the name of no bytes
        (local.set $n (i32.sub (local.get $n) (i32.const 1)))
        (local.set $name (i32.add (local.get $name) (i32.const 1)))
        (if (i32.and (i32.gt_s (local.get $n) (local.get $best))
                     (call $within (local.get $name) (local.get $n) (local.get $path) (local.get $length)))
          (then
            (local.set $best (local.get $n))
            (global.set $dir (local.get $fd))
            (global.set $path (i32.add (local.get $path) (local.get $n)))
            (global.set $length (i32.sub (local.get $length) (local.get $n)))))))
      (global.set $stack (i32.sub (local.get $stack) (i32.const 16)))
      (local.set $fd (i32.add (local.get $fd) (i32.const 1)))
      (br $next)))
    (global.set $stack (local.get $stack))
    (if (i32.lt_s (local.get $best) (i32.const 0)) (then (return (i32.const 44))))
    (block $done (loop $slash
      (br_if $done (i32.eqz (global.get $length)))
      (br_if $done (i32.ne (i32.load8_u (global.get $path)) (i32.const 47)))
      (global.set $path (i32.add (global.get $path) (i32.const 1)))
      (global.set $length (i32.sub (global.get $length) (i32.const 1)))
      (br $slash)))
    ;; The directory itself is a path of one dot: below the stack, where nobody
    ;; writes before the call it is for.
    (if (i32.eqz (global.get $length)) (then
      (global.set $path (i32.sub (global.get $stack) (i32.const 16)))
      (i32.store8 (global.get $path) (i32.const 46))
      (global.set $length (i32.const 1))))
    (i32.const 0))

  ;; within reports whether a path is in the directory of a name.
  (func $within (param $name i32) (param $n i32) (param $path i32) (param $length i32) (result i32)
    (if (i32.gt_u (local.get $n) (local.get $length)) (then (return (i32.const 0))))
    (if (i32.and (i32.and (i32.ne (local.get $n) (i32.const 0)) (i32.ne (local.get $n) (local.get $length)))
                 (i32.ne (i32.load8_u (i32.add (local.get $path) (local.get $n))) (i32.const 47)))
      (then (return (i32.const 0))))
    (loop $next
      (if (i32.eqz (local.get $n)) (then (return (i32.const 1))))
      (if (i32.ne (i32.load8_u (local.get $name)) (i32.load8_u (local.get $path))) (then (return (i32.const 0))))
      (local.set $name (i32.add (local.get $name) (i32.const 1)))
      (local.set $path (i32.add (local.get $path) (i32.const 1)))
      (local.set $n (i32.sub (local.get $n) (i32.const 1)))
      (br $next))
    unreachable)

  (func (export "path_open") (param $fd i32) (param $flags i32) (param $path i32) (param $n i32) (param $how i32)
      (param $rights i64) (param $below i64) (param $more i32) (param $out i32) (result i32) (local $errno i32)
    (if (local.tee $errno (call $find (local.get $fd) (local.get $path) (local.get $n))) (then (return (local.get $errno))))
    (call $wasi_open (global.get $dir) (local.get $flags) (global.get $path) (global.get $length) (local.get $how)
      (local.get $rights) (local.get $below) (local.get $more) (local.get $out)))
  (func (export "path_filestat_get") (param $fd i32) (param $flags i32) (param $path i32) (param $n i32) (param $out i32) (result i32)
    (local $errno i32)
    (if (local.tee $errno (call $find (local.get $fd) (local.get $path) (local.get $n))) (then (return (local.get $errno))))
    (call $wasi_path_stat (global.get $dir) (local.get $flags) (global.get $path) (global.get $length) (local.get $out)))
  (func (export "path_filestat_set_times") (param $fd i32) (param $flags i32) (param $path i32) (param $n i32)
      (param $a i64) (param $m i64) (param $which i32) (result i32) (local $errno i32)
    (if (local.tee $errno (call $find (local.get $fd) (local.get $path) (local.get $n))) (then (return (local.get $errno))))
    (call $wasi_path_times (global.get $dir) (local.get $flags) (global.get $path) (global.get $length)
      (local.get $a) (local.get $m) (local.get $which)))
  (func (export "path_create_directory") (param $fd i32) (param $path i32) (param $n i32) (result i32) (local $errno i32)
    (if (local.tee $errno (call $find (local.get $fd) (local.get $path) (local.get $n))) (then (return (local.get $errno))))
    (call $wasi_mkdir (global.get $dir) (global.get $path) (global.get $length)))
  (func (export "path_remove_directory") (param $fd i32) (param $path i32) (param $n i32) (result i32) (local $errno i32)
    (if (local.tee $errno (call $find (local.get $fd) (local.get $path) (local.get $n))) (then (return (local.get $errno))))
    (call $wasi_rmdir (global.get $dir) (global.get $path) (global.get $length)))
  (func (export "path_unlink_file") (param $fd i32) (param $path i32) (param $n i32) (result i32) (local $errno i32)
    (if (local.tee $errno (call $find (local.get $fd) (local.get $path) (local.get $n))) (then (return (local.get $errno))))
    (call $wasi_unlink (global.get $dir) (global.get $path) (global.get $length)))
  (func (export "path_readlink") (param $fd i32) (param $path i32) (param $n i32) (param $to i32) (param $size i32) (param $out i32)
      (result i32) (local $errno i32)
    (if (local.tee $errno (call $find (local.get $fd) (local.get $path) (local.get $n))) (then (return (local.get $errno))))
    (call $wasi_readlink (global.get $dir) (global.get $path) (global.get $length) (local.get $to) (local.get $size) (local.get $out)))
  (func (export "path_rename") (param $fd i32) (param $path i32) (param $n i32) (param $toFd i32) (param $to i32) (param $m i32) (result i32)
    (local $errno i32) (local $dir i32)
    (if (local.tee $errno (call $find (local.get $fd) (local.get $path) (local.get $n))) (then (return (local.get $errno))))
    (local.set $dir (global.get $dir))
    (local.set $path (global.get $path))
    (local.set $n (global.get $length))
    (if (local.tee $errno (call $find (local.get $toFd) (local.get $to) (local.get $m))) (then (return (local.get $errno))))
    (call $wasi_rename (local.get $dir) (local.get $path) (local.get $n) (global.get $dir) (global.get $path) (global.get $length)))
  ;; Links are not made.
  (func (export "path_link") (param i32 i32 i32 i32 i32 i32 i32) (result i32) (i32.const 58))
  (func (export "path_symlink") (param i32 i32 i32 i32 i32) (result i32) (i32.const 58))

  ;; There are no sockets.
  (func (export "sock_accept") (param i32 i32 i32) (result i32) (i32.const 58))
  (func (export "sock_recv") (param i32 i32 i32 i32 i32 i32) (result i32) (i32.const 58))
  (func (export "sock_send") (param i32 i32 i32 i32 i32) (result i32) (i32.const 58))
  (func (export "sock_shutdown") (param i32 i32) (result i32) (i32.const 58))

  <exports>
)
