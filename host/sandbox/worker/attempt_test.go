package worker

import "fmt"

// tries are what tests have a worker try. Each returns what came of it.
var tries = attempts{
	"panic": func(text string) string { panic(text) },
}

// try has a worker try something; what came of it is the error.
func try(p *process, name, text string) error {
	var got tried
	if err := p.request(kindAttempt, &attempt{name, text}, kindTried, 1<<20, &got); err != nil {
		return p.judge(err)
	}
	if got.Text == "" {
		return nil
	}
	return fmt.Errorf("%s", got.Text)
}
