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
	page, err := os.ReadFile("../../docs/grpc-api.md")
	check(t, err)
	shown := shownProgram.FindAllStringSubmatch(string(page), -1)
	equal(t, len(shown), strings.Count(string(page), "\n```go\n"))
	for _, program := range shown {
		file := filepath.Join(t.TempDir(), "main.go")
		code := strings.ReplaceAll(program[1], "localhost:50052", address)
		check(t, os.WriteFile(file, []byte(code), 0o600))
		command := exec.CommandContext(t.Context(), "go", "run", file)
		command.Stderr = os.Stderr
		printed, err := command.Output()
		check(t, err)
		equal(t, string(printed), program[2])
	}
}
