;; Functions that take the place of the interpreter's of the same name. What stands
;; in angle brackets is filled in by Link; the state is mp_state_ctx.
(module
  (import "engine" "gc_collect_start" (func $collect_start))
  (import "engine" "gc_collect_end" (func $collect_end))
  (import "engine" "gc_try_add_heap" (func $grow (param i32) (result i32)))
  (import "engine" "qstr_compute_hash" (func $hash (param i32 i32) (result i32)))
  ;; What was there before:
  (import "engine" "gc_alloc" (func $alloc (param i32 i32) (result i32)))
  (import "engine" "qstr_find_strn" (func $find (param i32 i32) (result i32)))
  (import "engine" "qstr_from_strn" (func $intern (param i32 i32) (result i32)))
  (import "engine" "stack" (global $stack (mut i32)))
  (memory 1)

  ;; The build's own gc_collect only makes a note to collect when nothing of the
  ;; interpreter runs, because it cannot see otherwise what is in use. Here
  ;; gc_collect_start scans the stack of C with that of Python, which begins where
  ;; the other ends. The heap grows while three quarters of it stay in use, so
  ;; that collecting does not take all of the time.
  (func $gc_collect (local $begin i32) (local $area i32) (local $free i32) (local $total i32) (local $at i32) (local $end i32) (local $b i32)
    (local.set $begin (i32.load (i32.const <state+8>)))
    (i32.store (i32.const <state+8>) (global.get $stack))
    (call $collect_start)
    (i32.store (i32.const <state+8>) (local.get $begin))
    (call $collect_end)
    (memory.fill (i32.const 1024) (i32.const 0) (i32.const 256))
    (i32.store (i32.const 1016) (i32.add (i32.load (i32.const 1016)) (i32.const 1)))
    ;; Four blocks of two bits to the byte; a block is free when both are 0.
    (local.set $area (i32.const <state+384>))
    (loop $areas
      (local.set $at (i32.load offset=4 (local.get $area)))
      (local.set $end (i32.add (local.get $at) (i32.and (i32.load offset=8 (local.get $area)) (i32.const -4))))
      (local.set $total (i32.add (local.get $total) (i32.shl (i32.load offset=8 (local.get $area)) (i32.const 2))))
      (block $done (loop $bytes
        (br_if $done (i32.ge_u (local.get $at) (local.get $end)))
        (local.set $b (i32.load align=1 (local.get $at)))
        (local.set $b (i32.and (i32.or (local.get $b) (i32.shr_u (local.get $b) (i32.const 1))) (i32.const 0x55555555)))
        (local.set $free (i32.add (local.get $free) (i32.sub (i32.const 16) (i32.popcnt (local.get $b)))))
        (local.set $at (i32.add (local.get $at) (i32.const 4)))
        (br $bytes)))
      (br_if $areas (local.tee $area (i32.load (local.get $area)))))
    (if (i32.lt_u (local.get $free) (i32.shr_u (local.get $total) (i32.const 2)))
      (then (drop (call $grow (i32.const 16))))))

  ;; gc_alloc looks for more than one block from the first free block on, each
  ;; time, over all that is too small. So it is shown another place to begin:
  ;; behind what was found last for about as many blocks. What was passed over or
  ;; freed since is found again after the next collection.
  (func $gc_alloc (param $n i32) (param $flags i32) (result i32)
    (local $hint i32) (local $area i32) (local $before i32) (local $index i32) (local $round i32) (local $p i32) (local $blocks i32)
    (local.set $blocks (i32.shr_u (i32.add (local.get $n) (i32.const 15)) (i32.const 4)))
    (if (i32.lt_u (local.get $blocks) (i32.const 2)) (then (return (call $alloc (local.get $n) (local.get $flags)))))
    (local.set $hint (i32.add (i32.const 1024)
      (i32.shl (i32.sub (i32.const 32) (i32.clz (i32.sub (local.get $blocks) (i32.const 1)))) (i32.const 3))))
    (local.set $round (i32.load (i32.const 1016)))
    (if (local.tee $area (i32.load (local.get $hint))) (then
      (local.set $before (i32.load (i32.const <state+944>)))
      (local.set $index (i32.load offset=24 (local.get $area)))
      (i32.store (i32.const <state+944>) (local.get $area))
      (i32.store offset=24 (local.get $area) (i32.load offset=4 (local.get $hint)))))
    (local.set $p (call $alloc (local.get $n) (local.get $flags)))
    ;; After a collection both begin anew.
    (if (i32.and (i32.ne (local.get $area) (i32.const 0)) (i32.eq (local.get $round) (i32.load (i32.const 1016)))) (then
      (i32.store (i32.const <state+944>) (local.get $before))
      (i32.store offset=24 (local.get $area) (local.get $index))))
    (if (i32.eqz (local.get $p)) (then (return (i32.const 0))))
    (local.set $area (i32.const <state+384>))
    (block $found (loop $areas
      (br_if $found (i32.and
        (i32.ge_u (local.get $p) (i32.load offset=16 (local.get $area)))
        (i32.lt_u (local.get $p) (i32.load offset=20 (local.get $area)))))
      (br_if $areas (local.tee $area (i32.load (local.get $area))))
      (return (local.get $p))))
    (i32.store (local.get $hint) (local.get $area))
    (i32.store offset=4 (local.get $hint) (i32.shr_u
      (i32.add (local.get $blocks) (i32.shr_u (i32.sub (local.get $p) (i32.load offset=16 (local.get $area))) (i32.const 4)))
      (i32.const 2)))
    (local.get $p))

  ;; Each string that is made is looked up among the names that are known, one
  ;; after the other. Most are none: so there is a bit for each hash of 16 bits,
  ;; which is set when a name that is not built in may have it.
  (func $qstr_find_strn (param $text i32) (param $length i32) (result i32) (local $pool i32) (local $h i32)
    (local.set $h (call $hash (local.get $text) (local.get $length)))
    (if (i32.and (i32.shr_u (i32.load8_u offset=2048 (i32.shr_u (local.get $h) (i32.const 3)))
                            (i32.and (local.get $h) (i32.const 7))) (i32.const 1))
      (then (return (call $find (local.get $text) (local.get $length)))))
    (local.set $pool (i32.load (i32.const <state+48>)))
    (i32.store (i32.const <state+48>) (i32.const <names>))
    (local.set $h (call $find (local.get $text) (local.get $length)))
    (i32.store (i32.const <state+48>) (local.get $pool))
    (local.get $h))

  (func $qstr_from_strn (param $text i32) (param $length i32) (result i32) (local $h i32) (local $at i32)
    (local.set $h (call $hash (local.get $text) (local.get $length)))
    (local.set $at (i32.shr_u (local.get $h) (i32.const 3)))
    (local.set $text (call $intern (local.get $text) (local.get $length)))
    (i32.store8 offset=2048 (local.get $at) (i32.or (i32.load8_u offset=2048 (local.get $at))
      (i32.shl (i32.const 1) (i32.and (local.get $h) (i32.const 7)))))
    (local.get $text))
)
