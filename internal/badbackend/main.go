// Command badbackend is an AHP backend that misbehaves on request. Tests build
// and run it as the real process or server that a harness has to survive.
//
//	badbackend -fault NAME [-effect none|deny] [-delay D] [-exit N] [-http]
//
// Without -http it speaks over stdin and stdout: it answers line by line until
// EOF, which fits both lifecycles. With -http it listens on a free port of
// 127.0.0.1, prints its URL as one line, and serves until its stdin ends.
// -faults lists the faults, one a line. With -quick it answers without reading
// the message as JSON, and with -echo it gives each message back: what a
// benchmark compares with.
package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

// Marker stands in every bad body. It must never show up in a reason, a record
// or a log of the harness.
const Marker = "MARKER-5f1d0c-SECRET"

type options struct {
	fault, effect, log string
	delay              time.Duration
	exit               int
	size               int
	revision           string
}

func main() {
	var o options
	var list, overHTTP, quick, echo bool
	var sleep time.Duration
	flag.StringVar(&o.fault, "fault", "none", "what to do wrong")
	flag.StringVar(&o.effect, "effect", "none", "what a good answer says: none or deny")
	flag.StringVar(&o.log, "log", "", "file that gets one line for each message received")
	flag.DurationVar(&o.delay, "delay", 0, "how long slow and late answers take")
	flag.IntVar(&o.exit, "exit", 3, "exit status of faults that exit")
	flag.IntVar(&o.size, "size", 8<<20, "bytes of huge answers")
	flag.StringVar(&o.revision, "revision", "0.1", "protocolVersion of answers")
	flag.BoolVar(&overHTTP, "http", false, "serve HTTP")
	flag.BoolVar(&quick, "quick", false, "answer without effects, as fast as can be")
	flag.BoolVar(&echo, "echo", false, "give each message back")
	flag.BoolVar(&list, "faults", false, "list the faults")
	flag.DurationVar(&sleep, "sleep", 0, "do nothing for so long, as a process that is left behind does")
	flag.Parse()
	switch {
	case sleep > 0:
		time.Sleep(sleep)
	case list:
		for _, f := range append(append(append([]string{}, bodyFaults...), stdioFaults...), httpFaults...) {
			fmt.Println(f)
		}
	case quick && overHTTP:
		serveQuickHTTP(quickAnswer(o))
	case quick:
		serveQuick(quickAnswer(o))
	case echo && overHTTP:
		serveQuickHTTP(giveBack)
	case echo:
		serveQuick(giveBack)
	case overHTTP:
		serveHTTP(o)
	default:
		serveStdio(o)
	}
}

// bodyFaults make a whole message that is wrong; every transport carries them.
var bodyFaults = []string{
	"none", "garbage", "nonutf8", "half", "wrongid", "nullid", "jsonrpc1", "batch",
	"resultanderror", "neither", "dupname", "trailing", "rpcerror", "badversion",
	"badevent", "wrongversion", "missingversion", "missingeffects", "nulleffects",
	"effectsobject", "ask", "allow", "unlisted", "twodenies", "noreason",
	"emptyreason", "badcode", "huge", "padded", "deep", "empty",
	"effectfield", "unadvertised", "badvalue", "denyunknown", "goodthenbad", "badcontinue",
}

// body returns the message of a fault, without a line feed, or false.
func body(o options, id string) (string, bool) {
	q := func(s string) string { b, _ := json.Marshal(s); return string(b) }
	effects := "[]"
	deny := `{"type":"deny","reason":"refused by the test backend"}`
	if o.effect == "deny" {
		effects = "[" + deny + "]"
	}
	head := `{"jsonrpc":"2.0","id":` + q(id) + `,`
	version := `"` + cmp.Or(o.revision, "0.1") + `"`
	result := func(effects string) string {
		return head + `"result":{"protocolVersion":` + version + `,"effects":` + effects + `,"note":"` + Marker + `"}}`
	}
	rpc := func(code int) string {
		return head + fmt.Sprintf(`"error":{"code":%d,"message":"%s","data":{"trace":"%s"}}}`, code, Marker, Marker)
	}
	switch o.fault {
	case "garbage":
		return Marker + " is not JSON", true
	case "nonutf8":
		return head + `"result":{"protocolVersion":` + version + `,"effects":[],"x":"` + Marker + "\xff\xfe" + `"}}`, true
	case "half":
		return head + `"result":{"protocolVersion":` + version + `,"note":"` + Marker, true
	case "wrongid":
		return strings.Replace(result(effects), head, `{"jsonrpc":"2.0","id":"`+Marker+`",`, 1), true
	case "nullid":
		return strings.Replace(result(effects), head, `{"jsonrpc":"2.0","id":null,`, 1), true
	case "jsonrpc1":
		return strings.Replace(result(effects), `"2.0"`, `"1.0"`, 1), true
	case "batch":
		return "[" + result(effects) + "]", true
	case "resultanderror":
		return head + `"result":{"protocolVersion":` + version + `,"effects":[]},"error":{"code":1,"message":"` + Marker + `"}}`, true
	case "neither":
		return head + `"note":"` + Marker + `"}`, true
	case "dupname":
		return head + `"result":{"protocolVersion":` + version + `,"effects":[` + deny + `],"effects":[],"note":"` + Marker + `"}}`, true
	case "trailing":
		return result(effects) + result(effects), true
	case "rpcerror":
		return rpc(-32003), true
	case "badversion":
		return rpc(-32001), true
	case "badevent":
		return rpc(-32002), true
	case "wrongversion":
		return strings.Replace(result(effects), version, `"9.9"`, 1), true
	case "missingversion":
		return strings.Replace(result(effects), `"protocolVersion":`+version+`,`, "", 1), true
	case "missingeffects":
		return strings.Replace(result("X"), `,"effects":X`, "", 1), true
	case "nulleffects":
		return result("null"), true
	case "effectsobject":
		return result(deny), true
	case "ask":
		return result(`[{"type":"ask","reason":"` + Marker + `"}]`), true
	case "allow":
		return result(`[{"type":"allow"}]`), true
	case "unlisted":
		return result(`[{"type":"net.acme.pause","reason":"` + Marker + `"}]`), true
	case "twodenies":
		return result("[" + deny + "," + deny + "]"), true
	case "effectfield": // revision draft closes effects, 0.1 does not
		return result(`[{"type":"deny","reason":"x","scope":"` + Marker + `"}]`), true
	case "unadvertised":
		return result(`[{"type":"modify","target":"output","operation":"merge","value":[]}]`), true
	case "badvalue":
		return result(`[{"type":"modify","target":"input","operation":"merge","value":["` + Marker + `"]}]`), true
	case "denyunknown":
		return result("[" + deny + `,{"type":"explode","note":"` + Marker + `"}]`), true
	case "goodthenbad":
		return result(`[{"type":"message","text":"` + Marker + `"},{"type":"modify","target":"input","operation":"merge","value":{"cmd":"` + Marker +
			`"}},{"type":"modify","target":"input","operation":"append","value":{}}]`), true
	case "badcontinue":
		return result(`[{"type":"flow","operation":"continue","instruction":"` + Marker + `"}]`), true
	case "noreason":
		return result(`[{"type":"deny","note":"` + Marker + `"}]`), true
	case "emptyreason":
		return result(`[{"type":"deny","reason":""}]`), true
	case "badcode":
		return result(`[{"type":"deny","reason":"` + Marker + `","code":"nodots"}]`), true
	case "huge":
		// A valid answer but for its size.
		return strings.Replace(result(effects), Marker, Marker+strings.Repeat("x", o.size), 1), true
	case "padded":
		// A good answer, and white space up to the size.
		return result(effects) + strings.Repeat(" ", o.size), true
	case "deep":
		return strings.Replace(result(effects), `"`+Marker+`"`,
			strings.Repeat("[", 5000)+`"`+Marker+`"`+strings.Repeat("]", 5000), 1), true
	case "empty":
		return "", true
	case "none":
		return head + `"result":{"protocolVersion":` + version + `,"effects":` + effects + `}}`, true
	}
	return head + `"result":{"protocolVersion":` + version + `,"effects":` + effects + `}}`, false
}

type message struct {
	ID     *string `json:"id"`
	Method string  `json:"method"`
	Params struct {
		Event struct {
			ID   string `json:"id"`
			Type string `json:"type"`
		} `json:"event"`
	} `json:"params"`
}

// note appends one line about a received message to the log file.
func (o options) note(raw []byte, m message) {
	if o.log == "" {
		return
	}
	f, err := os.OpenFile(o.log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		fatal(err)
	}
	defer f.Close()
	fmt.Fprintf(f, "%s %s %s %s\n", m.Method, m.Params.Event.Type, m.Params.Event.ID, raw)
}

func fatal(err error) {
	fmt.Fprintln(os.Stderr, "badbackend:", err)
	os.Exit(70)
}

// forever blocks for good. Unlike an empty select it is no deadlock to the
// runtime.
func forever() {
	for {
		time.Sleep(time.Hour)
	}
}

var stdioFaults = []string{
	"hung", "slow", "late", "lateonce", "exit", "exitafter", "killed", "banner", "extra",
	"twice", "pretty", "nolf", "crlf", "blank", "trickle", "endless", "noread",
	"closestdout", "stderrflood", "stdoutflood", "unasked", "ignoreterm",
	"grandchild", "daemon", "single", "exitidle", "again", "stray", "bye", "byeterm", "observehang", "env", "argv", "cwd",
}

func serveStdio(o options) {
	out := bufio.NewWriter(os.Stdout)
	say := func(s string) { out.WriteString(s); out.Flush() }
	term := make(chan os.Signal, 1)
	switch o.fault {
	case "noread":
		forever()
	case "byeterm":
		signal.Notify(term, syscall.SIGTERM)
	case "ignoreterm":
		signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	case "stdoutflood":
		for {
			say(Marker + strings.Repeat(" flood", 100) + "\n")
		}
	case "unasked":
		say(`{"jsonrpc":"2.0","id":"unasked","result":{"protocolVersion":"0.1","effects":[]}}` + "\n")
	}
	in := bufio.NewReaderSize(os.Stdin, 64<<10)
	if o.fault == "single" {
		serveSingle(o, in, say)
		return
	}
	count, first := 0, ""
	for {
		line, err := in.ReadBytes('\n')
		if len(line) > 1 {
			var m message
			if err := json.Unmarshal(line, &m); err != nil {
				fatal(fmt.Errorf("request: %w", err))
			}
			o.note(line, m)
			count++
			if count == 1 && m.ID != nil {
				first = *m.ID
			}
			if m.ID == nil {
				if o.fault == "observehang" {
					forever()
				}
			} else {
				answer(o, say, *m.ID, first, count)
			}
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			fatal(err)
		}
	}
	switch o.fault {
	case "exitafter":
		os.Exit(o.exit)
	case "bye": // what a process may do that is given the time
		o.note([]byte("bye"), message{})
	case "byeterm":
		<-term
		o.note([]byte("term"), message{})
	case "ignoreterm":
		forever()
	}
}

// serveSingle refuses each question that comes while another one is open.
func serveSingle(o options, in *bufio.Reader, say func(string)) {
	lines := make(chan []byte)
	go func() {
		defer close(lines)
		for {
			line, err := in.ReadBytes('\n')
			if err != nil {
				return
			}
			lines <- line
		}
	}()
	for line := range lines {
		two := false
		select {
		case _, two = <-lines:
		case <-time.After(o.delay):
		}
		var m message
		if err := json.Unmarshal(line, &m); err != nil {
			fatal(fmt.Errorf("request: %w", err))
		}
		if two {
			denyWith(o, say, *m.ID, "a second question is open")
			continue
		}
		answer(o, say, *m.ID, "", 0)
	}
}

func answer(o options, say func(string), id, first string, count int) {
	s, whole := body(o, id)
	if whole {
		say(s + "\n")
		return
	}
	switch o.fault {
	case "hung":
		forever()
	case "slow", "late":
		time.Sleep(o.delay)
		say(s + "\n")
	case "lateonce": // the first answer comes together with the second, before it
		if count == 1 {
			return
		}
		if count == 2 {
			old, _ := body(options{fault: "none", effect: "deny", revision: o.revision}, first)
			say(old + "\n")
		}
		say(s + "\n")
	case "again": // the first answer again, as a denial, before each later one
		if count > 1 {
			old, _ := body(options{fault: "none", effect: "deny", revision: o.revision}, first)
			say(old + "\n")
		}
		say(s + "\n")
	case "stray": // a denial of something else before each answer
		old, _ := body(options{fault: "none", effect: "deny", revision: o.revision}, "stray-"+Marker)
		say(old + "\n" + s + "\n")
	case "exit":
		os.Exit(o.exit)
	case "killed":
		p, _ := os.FindProcess(os.Getpid())
		_ = p.Kill()
		forever()
	case "banner":
		say("Welcome to " + Marker + "\n" + s + "\n")
	case "extra":
		say(s + "\n" + Marker + "\n")
	case "twice":
		say(s + "\n" + s + "\n")
	case "pretty":
		say("{\n" + s[1:] + "\n")
	case "nolf":
		say(s)
	case "crlf":
		say(s + "\r\n")
	case "blank":
		say("\n" + s + "\n")
	case "trickle":
		for i := range len(s) {
			say(s[i : i+1])
			time.Sleep(o.delay)
		}
		say("\n")
	case "endless":
		say(`{"jsonrpc":"2.0","id":"`)
		for {
			say(Marker)
		}
	case "closestdout":
		os.Stdout.Close()
		forever()
	case "stderrflood":
		for range 2000 {
			os.Stderr.WriteString(strings.Repeat(Marker+" ", 100) + "\n")
		}
		say(s + "\n")
	case "grandchild", "daemon":
		leaveBehind(o)
		say(s + "\n")
	case "exitidle": // answers, then ends with an error before the next question
		say(s + "\n")
		os.Exit(o.exit)
	case "env":
		denyWith(o, say, id, strings.Join(os.Environ(), " "))
	case "argv":
		denyWith(o, say, id, strings.Join(os.Args[1:], " "))
	case "cwd":
		wd, _ := os.Getwd()
		denyWith(o, say, id, wd)
	default:
		say(s + "\n")
	}
}

func denyWith(o options, say func(string), id, reason string) {
	qid, _ := json.Marshal(id)
	qr, _ := json.Marshal(reason)
	say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":%q,"effects":[{"type":"deny","reason":%s}]}}`+"\n",
		qid, cmp.Or(o.revision, "0.1"), qr))
}
