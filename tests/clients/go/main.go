// net/http and grpc-go: proxy from the environment, roots from SSL_CERT_FILE or the system.
package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"runtime"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/metadata"
)

const api = "https://api.test"
const digest = "aca1cd027e979588d14b877b7b0cb8585ad9fec599eb45801992ee5382b3760f"

var token = os.Getenv("API_TOKEN")

func send(method, path string, body io.Reader) (*http.Response, error) {
	request, err := http.NewRequest(method, api+path, body)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+token)
	return http.DefaultClient.Do(request)
}

func text(method, path string, body io.Reader) (string, string, error) {
	answer, err := send(method, path, body)
	if err != nil {
		return "", "", err
	}
	defer answer.Body.Close()
	data, err := io.ReadAll(answer.Body)
	return strings.TrimSpace(string(data)), answer.Proto, err
}

func wanted(got, want, detail string, err error) (string, error) {
	if err == nil && got != want {
		err = fmt.Errorf("%q instead of %q", got, want)
	}
	return detail, err
}

func get() (string, error) {
	got, version, err := text("GET", "/whoami", nil)
	return wanted(got, "you are "+token, version, err)
}

func post() (string, error) {
	got, _, err := text("POST", "/digest", strings.NewReader(strings.Repeat("0123456789abcdef", 65536)))
	return wanted(got, digest, "", err)
}

func stream() (string, error) {
	answer, err := send("GET", "/events", nil)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	reader := bufio.NewReader(answer.Body)
	first, err := reader.ReadString('\n')
	if err != nil {
		return "", err
	}
	fields := strings.Fields(first)
	if len(fields) != 3 || fields[2] != token {
		return "", errors.New(first)
	}
	if _, _, err = text("GET", "/go-on/"+fields[1], nil); err != nil {
		return "", err
	}
	rest, err := io.ReadAll(reader)
	return wanted(strings.TrimSpace(string(rest)), "data: done", "", err)
}

// raw leaves messages as they are: no protoc is needed.
type raw struct{}

func (raw) Marshal(v any) ([]byte, error)      { return *v.(*[]byte), nil }
func (raw) Unmarshal(data []byte, v any) error { *v.(*[]byte) = append([]byte{}, data...); return nil }
func (raw) Name() string                       { return "proto" }

func grpcChecks() (unary, bidi func() (string, error)) {
	encoding.RegisterCodec(raw{})
	connection, err := grpc.NewClient("grpc.test:443",
		grpc.WithTransportCredentials(credentials.NewTLS(&tls.Config{})))
	ctx, _ := context.WithTimeout(context.Background(), 20*time.Second) // the process ends first
	ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+token)
	unary = func() (string, error) {
		if err != nil {
			return "", err
		}
		question, answer := []byte("hello"), []byte{}
		err := connection.Invoke(ctx, "/warder.Echo/Say", &question, &answer)
		return wanted(string(answer), "you are "+token+": hello", "HTTP/2", err)
	}
	bidi = func() (string, error) {
		if err != nil {
			return "", err
		}
		talk, err := connection.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true},
			"/warder.Echo/Talk")
		if err != nil {
			return "", err
		}
		for i := range 3 {
			said, heard := []byte(fmt.Sprint("message ", i)), []byte{}
			if err := talk.SendMsg(&said); err != nil {
				return "", err
			}
			if err := talk.RecvMsg(&heard); err != nil {
				return "", err
			}
			if string(heard) != string(said) {
				return "", fmt.Errorf("heard %q", heard)
			}
		}
		talk.CloseSend()
		if err := talk.RecvMsg(&[]byte{}); err != io.EOF {
			return "", fmt.Errorf("no end: %v", err)
		}
		return "", nil
	}
	return
}

func report(name string, check func() (string, error)) {
	if detail, err := check(); err != nil {
		fmt.Println(name, strings.ReplaceAll(err.Error(), "\n", " "))
	} else {
		fmt.Println(name, "ok", detail)
	}
}

func main() {
	if os.Args[1] == "grpc" {
		fmt.Println("version", grpc.Version)
		unary, bidi := grpcChecks()
		report("unary", unary)
		report("bidi", bidi)
		return
	}
	fmt.Println("version", strings.TrimPrefix(runtime.Version(), "go"))
	report("get", get)
	report("post", post)
	report("stream", stream)
}
