module github.com/parlance/parlance-go

go 1.19
