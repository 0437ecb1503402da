package interop

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// A program of a page, and its output.
var shownProgram = regexp.MustCompile("(?ms)^```go\n(.*?)^```\n\n^```text\n(.*?)^```$")

func TestEveryProgramOfTheGrpcApiPrintsWhatIsShown(t *testing.T) {
	runPrograms(t, "../../docs/grpc-api.md", address, t.TempDir())
}

func TestEveryProgramOfClientsPrintsWhatIsShownWithTlsAndAToken(t *testing.T) {
	folder := os.Getenv("SVC_TLS_FOLDER")
	token, err := os.ReadFile(filepath.Join(folder, "token"))
	check(t, err)
	t.Setenv("SVC_TOKEN", string(token))
	authority, err := os.ReadFile(filepath.Join(folder, "ca.pem"))
	check(t, err)
	directory := t.TempDir()
	check(t, os.WriteFile(filepath.Join(directory, "ca.pem"), authority, 0o600))
	runPrograms(t, "../../docs/clients.md", os.Getenv("SVC_TLS_GRPC"), directory)
}

// runPrograms builds the programs of a page here, which has the modules, and runs them in a directory.
func runPrograms(t *testing.T, name, address, directory string) {
	t.Helper()
	page, err := os.ReadFile(name)
	check(t, err)
	shown := shownProgram.FindAllStringSubmatch(string(page), -1)
	equal(t, len(shown), strings.Count(string(page), "\n```go\n"))
	for _, program := range shown {
		file := filepath.Join(directory, "main.go")
		code := strings.ReplaceAll(program[1], "localhost:50052", address)
		check(t, os.WriteFile(file, []byte(code), 0o600))
		binary := filepath.Join(directory, "program")
		build := exec.CommandContext(t.Context(), "go", "build", "-o", binary, file)
		build.Stderr = os.Stderr
		check(t, build.Run())
		command := exec.CommandContext(t.Context(), binary)
		command.Dir = directory
		command.Stderr = os.Stderr
		printed, err := command.Output()
		check(t, err)
		equal(t, string(printed), program[2])
	}
}
