//! Input and output of a guest over either of the two interfaces: with the
//! feature `extism` it is `extism:host/env`, else `skillet:host/v1`.

#[cfg(feature = "extism")]
mod host {
    #[link(wasm_import_module = "extism:host/env")]
    extern "C" {
        fn input_length() -> u64;
        fn input_load_u8(offset: u64) -> u32;
        fn input_load_u64(offset: u64) -> u64;
        fn alloc(length: u64) -> u64;
        fn store_u8(offset: u64, value: u32);
        fn store_u64(offset: u64, value: u64);
        fn output_set(offset: u64, length: u64);
    }

    pub fn input() -> Vec<u8> {
        let length = unsafe { input_length() };
        let whole = length & !7;
        let mut data = Vec::with_capacity(length as usize);
        for offset in (0..whole).step_by(8) {
            data.extend_from_slice(&unsafe { input_load_u64(offset) }.to_le_bytes());
        }
        for offset in whole..length {
            data.push(unsafe { input_load_u8(offset) } as u8);
        }
        data
    }

    pub fn output(data: &[u8]) {
        let length = data.len() as u64;
        let block = unsafe { alloc(length) };
        let words = data.chunks_exact(8);
        let rest = words.remainder();
        let mut offset = block;
        for word in words {
            unsafe { store_u64(offset, u64::from_le_bytes(word.try_into().unwrap())) };
            offset += 8;
        }
        for byte in rest {
            unsafe { store_u8(offset, u32::from(*byte)) };
            offset += 1;
        }
        unsafe { output_set(block, length) };
    }
}

#[cfg(not(feature = "extism"))]
mod host {
    #[link(wasm_import_module = "skillet:host/v1")]
    extern "C" {
        fn input_length() -> u64;
        fn input_read(to: *mut u8, offset: u64, length: u32) -> u32;
        fn output_write(from: *const u8, length: u32);
    }

    pub fn input() -> Vec<u8> {
        let length = unsafe { input_length() } as usize;
        let mut data = Vec::with_capacity(length);
        unsafe {
            let got = input_read(data.as_mut_ptr(), 0, length as u32);
            data.set_len(got as usize);
        }
        data
    }

    pub fn output(data: &[u8]) {
        unsafe { output_write(data.as_ptr(), data.len() as u32) };
    }
}

pub use host::{input, output};
