module peers

go 1.21

require github.com/failsafe-go/failsafe-go v0.9.8
