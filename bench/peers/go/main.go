// SPDX-License-Identifier: MIT
// failsafe-go: main WORK COUNT
package main

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"syscall"

	"github.com/failsafe-go/failsafe-go"
	"github.com/failsafe-go/failsafe-go/circuitbreaker"
	"github.com/failsafe-go/failsafe-go/retrypolicy"
)

var busy = errors.New("HTTP 503 Service Unavailable")

func processorTime() int64 {
	var used syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &used)
	return used.Utime.Nano() + used.Stime.Nano()
}

func main() {
	work := os.Args[1]
	count, _ := strconv.Atoi(os.Args[2])
	sum := 0
	var once func()
	switch work {
	case "retry":
		executor := failsafe.With(retrypolicy.NewBuilder[int]().WithMaxRetries(3).Build())
		once = func() {
			calls := 0
			result, err := executor.Get(func() (int, error) {
				calls++
				if calls == 1 {
					return 0, busy
				}
				return calls, nil
			})
			if err != nil {
				panic(err)
			}
			sum += result
		}
	case "breaker":
		executor := failsafe.With(circuitbreaker.NewWithDefaults[int]())
		once = func() {
			result, err := executor.Get(func() (int, error) { return 2, nil })
			if err != nil {
				panic(err)
			}
			sum += result
		}
	default:
		os.Exit(3)
	}
	for i := 0; i < count/5; i++ {
		once()
	}
	begin := processorTime()
	for i := 0; i < count; i++ {
		once()
	}
	fmt.Println(float64(processorTime()-begin) / float64(count))
	if sum == 0 {
		os.Exit(1)
	}
}
