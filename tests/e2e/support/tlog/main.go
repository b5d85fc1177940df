// A second opinion on Warder's checkpoints and proofs, by Go's own sumdb/note and sumdb/tlog:
//
//	tlog log VKEY FILE     every checkpoint of an audit file: signature, size, root
//	tlog proof VKEY FILE   what `warder audit prove` wrote
package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func fail(format string, args ...interface{}) { check(fmt.Errorf(format, args...)) }

// The size and root of a checkpoint that the key signed.
func open(verifier note.Verifier, text string) (int64, tlog.Hash) {
	signed, err := note.Open([]byte(text), note.VerifierList(verifier))
	check(err)
	lines := strings.Split(signed.Text, "\n")
	size, err := strconv.ParseInt(lines[1], 10, 64)
	check(err)
	root, err := tlog.ParseHash(lines[2])
	check(err)
	return size, root
}

type hashes []tlog.Hash

func (stored hashes) ReadHashes(indexes []int64) ([]tlog.Hash, error) {
	out := make([]tlog.Hash, len(indexes))
	for i, index := range indexes {
		out[i] = stored[index]
	}
	return out, nil
}

func checkLog(verifier note.Verifier, data []byte) {
	var stored hashes
	count := 0
	for number, line := range bytes.Split(bytes.TrimSuffix(data, []byte("\n")), []byte("\n")) {
		var record struct{ Type, Note string }
		check(json.Unmarshal(line, &record))
		if record.Type == "checkpoint" {
			size, root := open(verifier, record.Note)
			mine, err := tlog.TreeHash(int64(number), stored)
			check(err)
			if size != int64(number) || root != mine {
				fail("checkpoint %d has another size or root", number)
			}
			count++
		}
		more, err := tlog.StoredHashes(int64(number), line, stored)
		check(err)
		stored = append(stored, more...)
	}
	fmt.Println("checkpoints", count)
}

func checkProof(verifier note.Verifier, data []byte) {
	parts := strings.SplitN(string(data), "\n\n", 3)
	if len(parts) != 3 {
		fail("not three parts")
	}
	record := strings.TrimPrefix(parts[0], "warder-audit-proof 1\n")
	lines := strings.Split(parts[1], "\n")
	if lines[0] != "c2sp.org/tlog-proof@v1" {
		fail("no tlog-proof")
	}
	index, err := strconv.ParseInt(strings.TrimPrefix(lines[1], "index "), 10, 64)
	check(err)
	var proof tlog.RecordProof
	for _, line := range lines[2:] {
		hash, err := base64.StdEncoding.DecodeString(line)
		check(err)
		var one tlog.Hash
		copy(one[:], hash)
		proof = append(proof, one)
	}
	size, root := open(verifier, parts[2])
	check(tlog.CheckRecord(proof, size, root, index, tlog.RecordHash([]byte(record))))
	fmt.Println("proved", index, "of", size)
}

func main() {
	verifier, err := note.NewVerifier(os.Args[2])
	check(err)
	data, err := os.ReadFile(os.Args[3])
	check(err)
	if os.Args[1] == "log" {
		checkLog(verifier, data)
	} else {
		checkProof(verifier, data)
	}
}
