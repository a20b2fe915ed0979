// Package wasmbin reads WebAssembly core modules, refuses those that are not
// safe to compile, and rewrites the others so that they can be bounded and
// brought back to an earlier state.
//
// It knows bytes only: no engine, no skill, no manifest, no policy. It does not
// check the types of values on the stack; the compiler does, and nothing that
// is written here makes an ill-typed module well-typed.
//
// # The gate
//
// Inspect accepts core specification 2.0 plus tail-call, extended-const and
// exception-handling (see Features) within Limits. It exists because a compiler takes a module at its
// word: fifteen bytes that declare four billion functions, a table of a million
// branch targets or three thousand locals in three thousand loops kill or stall
// the process that compiles them. Reading is linear in the size of the module
// and allocates by what is there, not by what is declared. Where an encoding
// could be read in two ways (long forms of vector opcodes and block types) only
// the shortest is accepted, so that no compiler sees other instructions than
// were checked here. Every refusal is an *Error with section and byte offset;
// one for a proposal that is not supported names it.
//
// Custom sections are checked as far as a compiler reads them, and dropped by
// Instrument. The default limits:
//
//	module 32 MiB                       body of a function 1 MiB
//	custom sections 16 MiB              locals of a function 5,000
//	types 10,000                        nested blocks 4,096
//	parameters, results 1,000           blocks of a function 20,000
//	imports 1,000                       its values times its blocks 1,000,000
//	functions 100,000                   targets of a br_table 16,384
//	tables 4 of 100,000 entries         names 1,000 bytes
//	memory 65,536 pages                 globals, exports 10,000
//	element segments 10,000             entries of them 100,000
//	data segments 100,000
//	work to compile a function 1,000,000 and a module 10,000,000, which is
//	about ten seconds
//
// # Exceptions
//
// Instrument and Parse write exceptions as branches, before anything else, so
// that no compiler sees any. A throw sets two globals and goes to the clauses of
// the try_table around it or returns zeros; behind each call of a function that may
// throw one of them is read. What is charged, checked, restored and measured is
// that code, so fuel is exact for what is thrown as for what returns: a charge that
// was taken for a way that an exception leaves is not given back, as with other
// branches. What compiling it costs is bounded by CompileWork and FunctionWork
// once more.
//
// An exnref is a v128 then, and typed as one. An exception carries up to 8 bytes
// of numbers. Refused are tags that are imported or carry more, tables and segments
// of exceptions, and imported functions that take or return one; exports of tags are
// dropped. ref.is_null of an exnref does not compile. A mutable global of one pins
// the instance. What nothing catches is the trap "unreachable" at the end of the
// exported function.
//
// # Snapshots
//
// With Options.Snapshot an instance's mutable globals are exported, so that a
// host that restores them and the memory has restored the instance, unless
// Instrumented.Pinned says what stands in the way. The start function is
// exported in place of the start section, and the memory has room for a page
// more: see Instrumented.
//
// # Fuel
//
// Instrument adds a mutable i64 global, exported as FuelGlobal, that holds a
// slice of the guest's budget, and the import of a function, TickName of
// TickModule. Charges subtract from the global; at some of them the guest then
// calls tick if the global is below zero. The host's side is:
//
//	granted := int64(0)            // what was put into the counter so far
//	tick: v := counter
//	      add := min(max(slice-v, 0), budget-granted)
//	      if v+add < 0 { trap }    // the budget is used up
//	      counter = v + add; granted += add
//	used = granted - counter       // at any time, also after a trap
//
// The counter starts at 0. A guest may take more than is left of the budget
// before it is stopped: what the code up to the next check costs. And it is
// stopped when what is left does not reach for one charge, even if not all of
// what that pays for would have run.
//
// The charges depend on the module, the Options and the path the guest takes,
// never on time or the slice: the same module and input use the same fuel and
// trap at the same place, whatever the slice. Fuel is charged before the code
// it pays for runs, and never less than the sum over the instructions that do
// run. It may be more, by what is said below.
//
//	fuel  for
//	   0  nop, drop, block, else, end, unreachable
//	   1  any instruction not named here; each turn of a loop
//	   2  vector instructions; entering a function
//	   3  br_table, table.get, table.set, table.size, memory.size, ref.func
//	   4  call, return_call (and what the called function charges)
//	   8  call_indirect, return_call_indirect, division, remainder, square root
//	  16  memory.init, data.drop, table.fill, copy and init, elem.drop; plus 1
//	      for each 16 bytes (rounded down) or table entry of their length operand
//	  32  memory.fill and copy; of more than 256 bytes plus 1 for each 16
//	  64  memory.grow and table.grow; plus 4,096 for each page or 1 for each
//	      entry asked for, counted up to the memory's or table's maximum
//
// Charges stand at function entries and loop heads, and pay for the dearest way
// from there to the next loop, or to the end of the turn or the function, also
// behind inner loops and blocks. A way that is dearer than others by more than
// they should pay, which is about 24 units and a quarter of what they use, or 128
// if they leave the loop, has a charge of its own where it begins. Ways that end
// in a trap do not count: what is skipped for one is not given back. Where a
// branch leads to dearer code, what did not branch may be given back instead.
//
// What the charge at the entry of a function would take, up to 64 units, its
// callers pay with the call instead when only direct calls lead there. A function
// that calls itself is entered from elsewhere, through tables and exports, by an
// added function that charges for it; at most 256 are added.
//
// The counter is compared, and tick called, at loop heads; at the entries of
// functions that cost more than 1,024 units outside of loops, with what they
// call; on every way from an entry to a call outside of loops, at the entry or a
// charge behind it; where more than 65,536 units were spent without a loop; where
// a function returns, when it has cost more than 32 units since it called another
// that calls; and at instructions charged by length, but for memory.fill and
// memory.copy of up to 256 bytes. Every loop, every recursion, through tables and
// tail calls too, and every tree of calls passes one of these, on the way in and
// on the way back. memory.fill, memory.copy and memory.init of more than 1 MiB
// are done in pieces of 1 MiB, with a call of tick between them whatever the
// counter holds, because nothing else can run meanwhile. What they cost is
// charged, and their bounds are checked, before the first. Tables are not that
// large.
//
// Two kinds of loops are written anew before they are metered. Prices are those
// of the new code. A function that is one loop around a br_table, with jumps
// that set a local and branch to the loop, is rebuilt: jumps ahead become
// branches, and the parts that a jump back goes over become a loop. Go's
// compiler writes all functions so. What is behind the first part of a loop
// without loops in it, up to 384 bytes, is written once more in front of it,
// for the turn in which it is entered: compilers that put a loop's condition at
// its end enter it there. A jump that was made into a branch does not set the
// local, so nothing else may read it, and no other loop may be around this one:
// its head, reached again, would read what a jump had set before. And a loop
// without loops or calls in it that costs up to 12, 24 or 96 units a turn is
// unrolled 8, 4 or 2 times, with one charge for all; a turn that leaves the
// loop gives back the fuel for those behind it, if that is more than 48 units.
// After a trap in such a loop up to 96 units more are used than without
// unrolling. Unrolling adds at most 8 KiB and a sixteenth of its code to a
// module.
//
// # What it costs
//
// The time of guests with fuel and tick, compiled by wazero 1.12 for amd64, as
// a part of that without (BenchmarkFuel), and the fuel they use as a multiple
// of the exact sum over their instructions:
//
//	               time   fuel                   time   fuel
//	tight loop     0.54   1.00    Rust: fib      1.04   1.02
//	fib            1.09   1.00          sieve    1.05   1.19
//	Go: SHA-256    0.70   1.00          SHA-256  0.92   1.00
//	    sort       0.98   1.13          sort     1.08   1.16
//	    matrix     0.71   1.10          matrix   0.97   1.00
//	    JSON       0.92   1.18          JSON     1.21   1.36
//	    regexp     0.85   1.20          regexp   1.16   1.27
//
// The geometric mean of the Go programs is 0.82, because rebuilt code is
// faster than what Go's compiler writes, that of the Rust ones 1.06. What is
// above 1.1 is loops of few turns and functions that do little between calls: a
// charge is a load, a subtraction, a store and a comparison, at the least one
// for each loop that is entered. An interpreter is the same: QuickJS takes 1.28,
// because it does little for one instruction of its own, with two charges.
// wazero's WithCloseOnContextDone takes 23 times the time of the tight loop,
// and does not stop a recursion without loops.
package wasmbin
