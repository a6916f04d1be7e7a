// A driver for wireproof in Go (wireproof.driver/1, docs/writing-a-driver.md), Go 1.18 or newer:
//
//	go build -o driver driver.go && wireproof driver check ./driver
//
// Put your SDK where FILL IN says so; replace the type sdk at the end.
package main

import (
	"bufio"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"sync"
	"time"
)

type object = map[string]any

// FILL IN: name, version and abilities of your SDK.
var hello = object{
	"protocol_version": "wireproof.driver/1",
	"sdk":              object{"name": "stub", "version": "1.0", "language": "Go"},
	"protocol":         "throttr",
	"profiles":         []string{"7.1.0", "7.3.2"},
	"variants":         []string{"uint8", "uint16", "uint32", "uint64"},
	"operations":       []string{"insert", "query", "batch"},
	"binary_safe":      true,
	"largest_number":   "18446744073709551615",
}

// The numbers that have names.
var words = map[string]map[string]uint64{
	"ttl_type":  {"nanoseconds": 1, "microseconds": 2, "milliseconds": 3, "seconds": 4, "minutes": 5, "hours": 6},
	"attribute": {"quota": 0, "ttl": 1},
	"change":    {"patch": 0, "increase": 1, "decrease": 2},
	"key_type":  {"counter": 0, "buffer": 1},
}

// A command: {"id": 3, "do": "insert", "connection": "a", ...}.
type command map[string]any

func (c command) text(name string) string { found, _ := c[name].(string); return found }

func (c command) number(name string) (uint64, error) {
	if found, known := words[name][c.text(name)]; known {
		return found, nil
	}
	found, err := strconv.ParseUint(c.text(name), 10, 64)
	if errors.Is(err, strconv.ErrRange) {
		return 0, failure{"too_wide", name + ": more than 64 bits"}
	}
	return found, err
}

func (c command) data(name string) ([]byte, error) {
	value, _ := c[name].(object)
	if text, ok := value["text"].(string); ok {
		return []byte(text), nil
	}
	digits, _ := value["hex"].(string)
	return hex.DecodeString(digits)
}

func named(name string, value uint64) string {
	for word, one := range words[name] {
		if one == value {
			return word
		}
	}
	return strconv.FormatUint(value, 10)
}

type failure struct{ kind, detail string }

func (f failure) Error() string { return f.detail }

// An operation: the request to your SDK and the result of its reply.
type operation struct {
	ask    func(*sdk, command) ([]byte, error)
	report func(*sdk) (object, error)
}

// FILL IN: one entry an operation. The others, and their fields and results, are in docs/drivers/README.md.
var operations = map[string]operation{
	"insert": {
		func(s *sdk, c command) ([]byte, error) {
			quota, err := c.number("quota")
			unit, err2 := c.number("ttl_type")
			ttl, err3 := c.number("ttl")
			key, err4 := c.data("key")
			if err := first(err, err2, err3, err4); err != nil {
				return nil, err
			}
			return s.insert(quota, byte(unit), ttl, key)
		},
		func(s *sdk) (object, error) {
			done, err := s.status()
			return object{"status": done}, err
		},
	},
	"query": {
		func(s *sdk, c command) ([]byte, error) {
			key, err := c.data("key")
			if err != nil {
				return nil, err
			}
			return s.query(key)
		},
		func(s *sdk) (object, error) {
			found, err := s.status()
			if err != nil || !found {
				return object{"status": false}, err
			}
			quota, unit, ttl, err := s.counter()
			return object{"quota": fmt.Sprint(quota), "ttl_type": named("ttl_type", uint64(unit)), "ttl": fmt.Sprint(ttl)}, err
		},
	},
}

var (
	keeping sync.Mutex // of clients
	clients = map[string]*sdk{}
)

// kept returns the client of a connection, nil where there is none; it puts other there, nil for none, if that is asked.
func kept(connection string, replace bool, other *sdk) *sdk {
	keeping.Lock()
	defer keeping.Unlock()
	found := clients[connection]
	if replace {
		delete(clients, connection)
	}
	if other != nil {
		clients[connection] = other
	}
	return found
}

// FILL IN: connect. When a message is pushed, call pushed.
func connect(c command) (object, error) {
	port, _ := c["port"].(float64)
	width := map[string]int{"uint8": 1, "uint16": 2, "uint32": 4, "uint64": 8}[c.text("variant")]
	client, err := dial(net.JoinHostPort(c.text("host"), fmt.Sprint(port)), width)
	if err != nil {
		return nil, failure{"closed", err.Error()}
	}
	if old := kept(c.text("connection"), true, client); old != nil {
		old.conn.Close()
	}
	return object{}, nil
}

// FILL IN: several requests at once; a single one uses the same code here.
func batch(c command, requests []any) ([]object, error) {
	var frames []byte
	var reports []operation
	client := kept(c.text("connection"), false, nil)
	for _, one := range requests {
		request, _ := one.(object)
		known, ok := operations[command(request).text("do")]
		if !ok {
			return nil, failure{"unsupported", fmt.Sprintf("no operation %v", request["do"])}
		}
		if client == nil {
			return nil, failure{"closed", "there is no connection " + c.text("connection")}
		}
		frame, err := known.ask(client, request)
		if err != nil {
			return nil, err
		}
		frames, reports = append(frames, frame...), append(reports, known)
	}
	if _, err := client.conn.Write(frames); err != nil {
		return nil, failure{"closed", err.Error()}
	}
	results := []object{}
	for _, one := range reports {
		result, err := one.report(client)
		if err != nil {
			return nil, err
		}
		results = append(results, result)
	}
	return results, nil
}

func closed(c command) (object, error) {
	client := kept(c.text("connection"), true, nil)
	if client == nil {
		return nil, failure{"closed", "there is no connection " + c.text("connection")}
	}
	client.conn.Close()
	return object{}, nil
}

func pushed(connection string, channel, payload []byte) {
	event := object{"event": "message", "connection": connection, "channel": nil, "payload": object{"hex": hex.EncodeToString(payload)}}
	if channel != nil {
		event["channel"] = object{"hex": hex.EncodeToString(channel)}
	}
	say(event)
}

var saying sync.Mutex

func say(message object) {
	saying.Lock()
	defer saying.Unlock()
	line, _ := json.Marshal(message)
	os.Stdout.Write(append(line, '\n'))
}

func do(c command) (any, error) {
	switch c.text("do") {
	case "hello":
		return hello, nil
	case "connect":
		return connect(c)
	case "close":
		return closed(c)
	case "quit":
		return object{}, nil
	case "batch":
		requests, _ := c["requests"].([]any)
		results, err := batch(c, requests)
		return object{"results": results}, err
	}
	results, err := batch(c, []any{object(c)})
	if err != nil {
		return nil, err
	}
	return results[0], nil
}

func main() {
	lines := bufio.NewReader(os.Stdin)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		var c command
		if err := json.Unmarshal(line, &c); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		if name, ok := c["connection"].(string); ok {
			worker(name) <- c
		} else {
			answer(c)
		}
		if c.text("do") == "quit" {
			return
		}
	}
}

var workers = map[string]chan command{}

// worker returns the queue of a connection: its commands run one after the other, and none waits for another connection.
func worker(connection string) chan command {
	queue, ok := workers[connection]
	if !ok {
		queue = make(chan command, 1000)
		workers[connection] = queue
		go func() {
			for c := range queue {
				answer(c)
			}
		}()
	}
	return queue
}

func answer(c command) {
	result, err := do(c)
	if err == nil {
		say(object{"id": c["id"], "ok": true, "result": result})
		return
	}
	kind := "other" // FILL IN: the kinds of your SDK's errors
	var known failure
	if errors.As(err, &known) {
		kind = known.kind
	}
	say(object{"id": c["id"], "ok": false, "error": object{"kind": kind, "told": err.Error()}})
}

func first(all ...error) error {
	for _, err := range all {
		if err != nil {
			return err
		}
	}
	return nil
}

// Stands in for your SDK: INSERT and QUERY, one request after the other.
type sdk struct {
	conn  net.Conn
	width int
}

func dial(address string, width int) (*sdk, error) {
	conn, err := net.DialTimeout("tcp", address, 3*time.Second)
	return &sdk{conn, width}, err
}

func (s *sdk) insert(quota uint64, unit byte, ttl uint64, key []byte) ([]byte, error) {
	one, err := s.wide(quota)
	other, err2 := s.wide(ttl)
	name, err3 := sized(key)
	frame := append(append([]byte{1}, one...), unit)
	return append(append(frame, other...), name...), first(err, err2, err3)
}

func (s *sdk) query(key []byte) ([]byte, error) {
	name, err := sized(key)
	return append([]byte{2}, name...), err
}

func (s *sdk) wide(value uint64) ([]byte, error) {
	if s.width < 8 && value>>(8*s.width) != 0 {
		return nil, failure{"too_wide", fmt.Sprintf("%d does not fit in %d bytes", value, s.width)}
	}
	found := make([]byte, s.width)
	for i := range found {
		found[i] = byte(value >> (8 * i))
	}
	return found, nil
}

func sized(key []byte) ([]byte, error) {
	if len(key) > 255 {
		return nil, failure{"too_long", fmt.Sprintf("%d bytes, at most 255 fit", len(key))}
	}
	return append([]byte{byte(len(key))}, key...), nil
}

func (s *sdk) read(count int) ([]byte, error) {
	found := make([]byte, count)
	s.conn.SetReadDeadline(time.Now().Add(3 * time.Second))
	_, err := io.ReadFull(s.conn, found)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return found, failure{"timeout", "no reply in 3 s"}
	}
	if err != nil {
		return found, failure{"closed", err.Error()}
	}
	return found, nil
}

func (s *sdk) status() (bool, error) {
	found, err := s.read(1)
	if err == nil && found[0] > 1 {
		return false, failure{"protocol", fmt.Sprintf("expected status 0 or 1, got %d", found[0])}
	}
	return found[0] == 1, err
}

func (s *sdk) counter() (quota uint64, unit byte, ttl uint64, err error) {
	found, err := s.read(2*s.width + 1)
	for i := s.width - 1; i >= 0; i-- {
		quota, ttl = quota<<8|uint64(found[i]), ttl<<8|uint64(found[s.width+1+i])
	}
	return quota, found[s.width], ttl, err
}
