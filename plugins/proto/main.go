// Command proto makes the Go files of the plugins' gRPC contracts of their proto
// files, with no compiler that is not a Go module: it is a module of its own, so
// that what it takes is pinned here and nowhere else.
//
//	go run .          write them
//	go run . -check   fail when they are not up to date
//
// It refuses to know what the contracts say.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bufbuild/protocompile"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/pluginpb"
)

// root is the folder that the names of proto files are relative to, seen from here.
const root = "../.."

// generators are the tools, as go.mod names them, and their parameter.
func generators() []string {
	return []string{"protoc-gen-go", "protoc-gen-go-grpc"}
}

func main() {
	check := flag.Bool("check", false, "write nothing, and fail when a file is not up to date")
	flag.Parse()
	if err := run(*check); err != nil {
		fmt.Fprintln(os.Stderr, "proto:", err)
		os.Exit(1)
	}
}

func run(check bool) error {
	names, err := protoFiles()
	if err != nil {
		return err
	}
	request, err := compile(names)
	if err != nil {
		return err
	}
	for _, generator := range generators() {
		files, err := generate(generator, request)
		if err != nil {
			return err
		}
		if err := each(files, check); err != nil {
			return err
		}
	}
	return nil
}

// protoFiles lists the proto files of the plugins, by their names from the root.
func protoFiles() ([]string, error) {
	var names []string
	err := fs.WalkDir(os.DirFS(root), "plugins", func(name string, _ fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(name, ".proto") {
			names = append(names, name)
		}
		return err
	})
	if err == nil && len(names) == 0 {
		err = errors.New("there are no proto files")
	}
	slices.Sort(names)
	return names, err
}

// compile makes what a generator is asked, with the comments of the files.
func compile(names []string) (*pluginpb.CodeGeneratorRequest, error) {
	c := protocompile.Compiler{
		Resolver:       protocompile.WithStandardImports(&protocompile.SourceResolver{ImportPaths: []string{root}}),
		SourceInfoMode: protocompile.SourceInfoStandard,
	}
	compiled, err := c.Compile(context.Background(), names...)
	if err != nil {
		return nil, err
	}
	request := &pluginpb.CodeGeneratorRequest{FileToGenerate: names, Parameter: proto.String("paths=source_relative")}
	seen := map[string]bool{}
	for _, file := range compiled {
		request.ProtoFile = appendFile(request.ProtoFile, seen, file)
	}
	return request, nil
}

// appendFile appends a file behind those it imports.
func appendFile(all []*descriptorpb.FileDescriptorProto, seen map[string]bool, file protoreflect.FileDescriptor) []*descriptorpb.FileDescriptorProto {
	if seen[file.Path()] {
		return all
	}
	seen[file.Path()] = true
	for i := range file.Imports().Len() {
		all = appendFile(all, seen, file.Imports().Get(i).FileDescriptor)
	}
	return append(all, protodesc.ToFileDescriptorProto(file))
}

// generate asks one generator.
func generate(generator string, request *pluginpb.CodeGeneratorRequest) ([]*pluginpb.CodeGeneratorResponse_File, error) {
	in, err := proto.Marshal(request)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command("go", "tool", generator)
	cmd.Stdin, cmd.Stderr = bytes.NewReader(in), os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", generator, err)
	}
	var response pluginpb.CodeGeneratorResponse
	if err := proto.Unmarshal(out, &response); err != nil {
		return nil, fmt.Errorf("%s: %w", generator, err)
	}
	if response.GetError() != "" {
		return nil, fmt.Errorf("%s: %s", generator, response.GetError())
	}
	return response.File, nil
}

// each writes the files, or compares them.
func each(files []*pluginpb.CodeGeneratorResponse_File, check bool) error {
	for _, f := range files {
		name := filepath.Join(root, filepath.FromSlash(f.GetName()))
		if now, err := os.ReadFile(name); err == nil && string(now) == f.GetContent() {
			continue
		}
		if check {
			return fmt.Errorf("%s is not up to date: run make generate", f.GetName())
		}
		if err := os.WriteFile(name, []byte(f.GetContent()), 0o644); err != nil {
			return err
		}
	}
	return nil
}
