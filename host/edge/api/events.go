package api

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/skillet-run/skillet/host/app/govern"
	"github.com/skillet-run/skillet/host/app/work"
)

type followTask struct {
	TaskID
	// After is what the browser's EventSource sends by itself when it connects again.
	After uint64 `header:"Last-Event-ID" doc:"Leaves out events up to that number."`
}

// events adds the stream of events of a task: messages of server-sent events, whose id is the
// number of the event.
func (a *API) events(r route) {
	op := a.operation(r)
	op.Responses["200"] = a.ofEvents()
	huma.Register(a.huma, op, func(ctx context.Context, in *followTask) (*huma.StreamResponse, error) {
		p := passOf(ctx)
		view, err := a.s.Work.Tasks().Show(ctx, p.By(), in.ID) // what is wrong is said before the stream begins
		if err != nil {
			a.noteDenied(ctx, err)
			return nil, a.problem(err)
		}
		return &huma.StreamResponse{Body: func(hc huma.Context) {
			a.stream(hc, func(ctx context.Context, each func(work.Event) error) error {
				return a.s.Work.Tasks().Logs(ctx, p.By(), work.LogsRequest{ID: view.Task.ID, After: in.After, Follow: true, Each: each})
			})
		}}, nil
	})
}

// allEvents adds the stream of the events of the home.
func allEvents(a *API) {
	op := a.operation(route{method: http.MethodGet, path: "/v1/events", id: "follow-events", class: stream, tag: "events", summary: "Streams the events of the home: what is kept of them, and then what happens", rights: needs(govern.RightRead)})
	op.Responses["200"] = a.ofEvents()
	huma.Register(a.huma, op, func(ctx context.Context, in *struct {
		After uint64 `header:"Last-Event-ID" doc:"Leaves out events up to that number."`
		From  uint64 `query:"after" doc:"The same, for who cannot send a header."`
	}) (*huma.StreamResponse, error) {
		p := passOf(ctx)
		return &huma.StreamResponse{Body: func(hc huma.Context) {
			a.stream(hc, func(ctx context.Context, each func(work.Event) error) error {
				return a.s.Work.Usage().Follow(ctx, p.By(), work.FollowRequest{After: max(in.After, in.From), Follow: true, Each: each})
			})
		}}, nil
	})
}

// ofEvents is an answer that is a stream of events.
func (a *API) ofEvents() *huma.Response {
	event := a.huma.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[work.Event](), true, "Event")
	return &huma.Response{
		Description: "Messages of server-sent events: the id of each is the number of an event, and its data the event as JSON.",
		Content:     map[string]*huma.MediaType{streamType: {Schema: &huma.Schema{Type: huma.TypeString, Description: "data is of the schema " + event.Ref}}},
	}
}

// stream writes events as they happen, and a comment now and then, so that both
// sides notice when the other is gone.
func (a *API) stream(hc huma.Context, follow func(context.Context, func(work.Event) error) error) {
	hc.SetHeader("Content-Type", streamType)
	hc.SetStatus(http.StatusOK)
	w, ok := hc.BodyWriter().(http.ResponseWriter)
	if !ok {
		return
	}
	control := http.NewResponseController(w)
	ctx, cancel := context.WithCancel(hc.Context())
	defer cancel()
	events, ended := make(chan work.Event), make(chan struct{})
	go func() {
		defer close(ended)
		err := follow(ctx, func(e work.Event) error {
			select {
			case events <- e:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
		if err != nil && ctx.Err() == nil {
			a.log.Warn("a stream of events ended", "err", err)
		}
	}()
	beat := time.NewTicker(a.set.Heartbeat)
	defer beat.Stop()
	for failed := control.Flush(); failed == nil; {
		select {
		case e := <-events:
			failed = send(w, control, message(e))
		case <-beat.C:
			if failed = a.stillAdmitted(hc); failed == nil {
				failed = send(w, control, []byte(": alive\n\n"))
			}
		case <-ended:
			failed = errEnd
		case <-a.ended:
			failed = errEnd
		}
	}
	cancel()
	<-ended
}

// stillAdmitted returns an error when the token of a stream was revoked or has expired.
func (a *API) stillAdmitted(hc huma.Context) error {
	if hc.Header("Authorization") == "" { // the local socket, where nothing ends
		return nil
	}
	if _, err := a.pass(hc); errors.Is(err, govern.ErrNotAdmitted) {
		return err
	}
	return nil
}

// streamType is the media type of a stream of events.
const streamType = "text/event-stream"

// errEnd ends a stream after which nothing follows.
var errEnd = errors.New("the end of the stream")

// writeTime is how long a client may take to read a message.
const writeTime = 10 * time.Second

func send(w http.ResponseWriter, c *http.ResponseController, b []byte) error {
	if err := c.SetWriteDeadline(time.Now().Add(writeTime)); err != nil {
		return err
	}
	if _, err := w.Write(b); err != nil {
		return err
	}
	return c.Flush()
}

// message is an event as a message of a stream.
func message(e work.Event) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "id: %d\nevent: %s\ndata: ", e.Seq, e.Type)
	if err := marshal(&b, e); err != nil {
		return nil
	}
	b.WriteByte('\n')
	return b.Bytes()
}
