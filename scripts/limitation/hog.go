package main

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"time"
)

const hogName = "hog"

// hog is a target that computes for each answer, on all CPUs: they are full then,
// and yet it is not the generator that wants them.
func hog() {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(os.Stderr, "limited:", err)
		os.Exit(1)
	}
	fmt.Println(l.Addr())
	_ = http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for end := time.Now().Add(10 * time.Millisecond); time.Now().Before(end); {
		}
		_, _ = w.Write([]byte("ok"))
	}))
}

// busy starts it.
func busy() target {
	return func() (func(), string, error) {
		self, err := os.Executable()
		if err != nil {
			return nil, "", err
		}
		return launch([]string{self, hogName})
	}
}
