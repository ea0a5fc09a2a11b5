module horde

go 1.26
