package findings

import (
	"slices"
	"strings"

	"github.com/skillet-run/skillet/host/base/guestapi"
	"github.com/skillet-run/skillet/host/engine/sandbox/wasmbin"
)

// offered are the functions that a module may import, by the module they come
// from. A test asks the sandbox whether each is there, and the packages that
// offer them whether all are here.
var offered = map[string][]string{
	guestapi.Module: guestapi.Names(),
	"extism:host/env": strings.Fields(`
		alloc free length length_unsafe load_u8 load_u64 store_u8 store_u64
		input_set input_length input_offset input_load_u8 input_load_u64
		output_set output_length output_offset error_set error_get reset memory_bytes
		http_request http_status_code http_headers var_get var_set config_get
		get_log_level log_trace log_debug log_info log_warn log_error`),
	"wasi_snapshot_preview1": strings.Fields(`
		args_get args_sizes_get environ_get environ_sizes_get clock_res_get clock_time_get
		fd_advise fd_allocate fd_close fd_datasync fd_fdstat_get fd_fdstat_set_flags fd_fdstat_set_rights
		fd_filestat_get fd_filestat_set_size fd_filestat_set_times fd_pread fd_prestat_get fd_prestat_dir_name
		fd_pwrite fd_read fd_readdir fd_renumber fd_seek fd_sync fd_tell fd_write
		path_create_directory path_filestat_get path_filestat_set_times path_link path_open path_readlink
		path_remove_directory path_rename path_symlink path_unlink_file
		poll_oneoff proc_exit proc_raise random_get sched_yield
		sock_accept sock_recv sock_send sock_shutdown`),
}

// isOffered reports whether this host offers what a module imports.
func isOffered(i wasmbin.Import) bool { return slices.Contains(offered[i.Module], i.Name) }
