// Package wasmbin reads WebAssembly core modules, refuses those that are not
// safe to compile, and rewrites the others so that they can be bounded.
//
// It knows bytes only: no engine, no skill, no manifest, no policy. It does not
// check the types of values on the stack; the compiler does, and nothing that
// is written here makes an ill-typed module well-typed.
//
// # The gate
//
// Inspect accepts core specification 2.0 plus tail-call and extended-const (see
// Features) within Limits. It exists because a compiler takes a module at its
// word: fifteen bytes that declare four billion functions, a table of a million
// branch targets or three thousand locals in three thousand loops kill or stall
// the process that compiles them. Reading is linear in the size of the module
// and allocates by what is there, not by what is declared. Where an encoding
// could be read in two ways (long forms of vector opcodes and block types) only
// the shortest is accepted, so that no compiler sees other instructions than
// were checked here. Every refusal is an *Error with section and byte offset.
//
// Custom sections are checked as far as a compiler reads them, and dropped by
// Instrument.
//
// # Fuel
//
// Instrument adds a mutable i64 global, exported as FuelGlobal, that holds a
// slice of the guest's budget, and the import of a function, TickName of
// TickModule. Charges subtract from the global; at some of them the guest then
// calls tick if the global is below zero. The host's side is:
//
//	granted := int64(0)            // what was put into the counter so far
//	tick: v := counter             // below zero
//	      add := min(slice-v, budget-granted)
//	      if v+add < 0 { trap }    // the budget is used up
//	      counter = v + add; granted += add
//	used = granted - counter       // at any time, also after a trap
//
// The counter starts at 0, so the first charge calls tick, also that of a start
// section. A call may take more than is left of the budget before the next
// tick: at most what one function's straight code costs.
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
//	  16  memory.fill, copy and init, data.drop, table.fill, copy and init,
//	      elem.drop; plus 1 for each 16 bytes (rounded down) or table entry of
//	      their length operand
//	  64  memory.grow and table.grow; plus 4,096 for each page or 1 for each
//	      entry asked for, counted up to the memory's or table's maximum
//
// Charges stand at function entries and loop heads, and pay for what follows up
// to the next loop, also behind inner loops and blocks. Code that a branch may
// skip is paid for there only as long as it adds up to 16 units; a run of
// instructions without a branch that would pass these has a charge of its own
// where it begins. So a charge takes at most 16 units for code that does not
// run. A function whose code begins with a loop, after no more than 4 units of
// straight code, has one charge at the head of that loop for both, so that each
// turn pays for the entry again. Measured on a Go program, all that is 1.4
// times the exact sum.
//
// The counter is compared, and tick called, at loop heads, at the entries of
// functions that have a call or a loop, and in front of instructions charged by
// length. Every loop and every recursion, through tables and tail calls too,
// passes one of these, and so does every tree of calls.
package wasmbin
