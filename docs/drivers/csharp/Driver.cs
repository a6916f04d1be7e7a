// A driver for wireproof in C# (wireproof.driver/1, docs/writing-a-driver.md), C# 7 or newer, nothing to install beside Mono:
//   mcs -out:driver.exe Driver.cs && wireproof driver check 'mono driver.exe'
// Put your SDK where FILL IN says so; replace the classes Sdk and Json at the end.
using System;
using System.Collections;
using System.Collections.Concurrent;
using System.Collections.Generic;
using System.Globalization;
using System.IO;
using System.Linq;
using System.Net.Sockets;
using System.Text;
using System.Threading;
using Fields = System.Collections.Generic.Dictionary<string, object>;

static class Driver {
    static readonly Fields Hello = new Fields { // FILL IN: name, version and abilities of your SDK
        { "protocol_version", "wireproof.driver/1" },
        { "sdk", new Fields { { "name", "stub" }, { "version", "1.0" }, { "language", "C#" } } },
        { "protocol", "throttr" },
        { "profiles", new[] { "7.1.0", "7.3.2" } },
        { "variants", new[] { "uint8", "uint16", "uint32", "uint64" } },
        { "operations", new[] { "insert", "query", "batch" } },
        { "binary_safe", true },
        { "largest_number", "18446744073709551615" },
    };

    static readonly Dictionary<string, string[]> Words = new Dictionary<string, string[]> { // numbers that have names, from 0; ttl_type has no 0
        { "ttl_type", new[] { "", "nanoseconds", "microseconds", "milliseconds", "seconds", "minutes", "hours" } },
        { "attribute", new[] { "quota", "ttl" } },
        { "change", new[] { "patch", "increase", "decrease" } },
        { "key_type", new[] { "counter", "buffer" } },
    };

    /// <summary>The request to your SDK, and the result of its reply.</summary>
    class Operation {
        public Func<Fields, Sdk.Request> Ask;
        public Func<object[], Fields> Report;
    }

    // FILL IN: one entry an operation. The others, and their fields and results, are in docs/drivers/README.md.
    static readonly Dictionary<string, Operation> Operations = new Dictionary<string, Operation> {
        { "insert", new Operation {
            Ask = c => Sdk.Insert(Number(c, "quota"), Word(c, "ttl_type"), Number(c, "ttl"), Data(c, "key")),
            Report = reply => new Fields { { "status", reply != null } } } },
        { "query", new Operation {
            Ask = c => Sdk.Query(Data(c, "key")),
            Report = reply => reply == null ? new Fields { { "status", false } } : new Fields {
                { "quota", reply[0].ToString() }, { "ttl_type", Named("ttl_type", (byte)reply[1]) }, { "ttl", reply[2].ToString() } } } },
    };

    static readonly ConcurrentDictionary<string, Sdk> Clients = new ConcurrentDictionary<string, Sdk>();
    static readonly Dictionary<string, BlockingCollection<Fields>> Workers = new Dictionary<string, BlockingCollection<Fields>>();
    static readonly Stream Output = Console.OpenStandardOutput();

    static int Main() {
        var lines = new StreamReader(Console.OpenStandardInput(), new UTF8Encoding(false));
        for (string line; (line = lines.ReadLine()) != null;) {
            var c = (Fields)new Json(line).Value();
            if (c.ContainsKey("connection")) Worker((string)c["connection"]).Add(c);
            else Answer(c);
            if ((string)c["do"] == "quit") break;
        }
        Environment.Exit(0); // an SDK's own threads may run on
        return 0;
    }

    /// <summary>One thread a connection: in order there, and none waits for another.</summary>
    static BlockingCollection<Fields> Worker(string connection) {
        BlockingCollection<Fields> found;
        if (Workers.TryGetValue(connection, out found)) return found;
        var made = Workers[connection] = new BlockingCollection<Fields>();
        new Thread(() => { foreach (var c in made.GetConsumingEnumerable()) Answer(c); }) { IsBackground = true }.Start();
        return made;
    }

    static void Answer(Fields c) {
        try {
            Say(new Fields { { "id", c["id"] }, { "ok", true }, { "result", Run(c) } });
        } catch (Exception error) { // FILL IN: the kinds of your SDK's errors
            var socket = error as SocketException ?? error.InnerException as SocketException;
            var kind = error is Failure ? ((Failure)error).Kind
                : socket != null && socket.SocketErrorCode == SocketError.TimedOut ? "timeout"
                : socket != null && socket.SocketErrorCode == SocketError.WouldBlock ? "timeout" // so says Mono
                : socket != null || error is IOException || error is ObjectDisposedException ? "closed" : "other";
            var why = new Fields { { "kind", kind }, { "told", error.Message } };
            Say(new Fields { { "id", c["id"] }, { "ok", false }, { "error", why } });
        }
    }

    static object Run(Fields c) {
        switch ((string)c["do"]) {
            case "hello": return Hello;
            case "connect": return Connect(c);
            case "batch": return new Fields { { "results", Batch(c, ((List<object>)c["requests"]).Cast<Fields>()) } };
            case "close": return Close(c);
            case "quit": return new Fields();
            default: return Batch(c, new[] { c })[0];
        }
    }

    static Fields Connect(Fields c) { // FILL IN: when a message is pushed, call Pushed()
        Sdk old;
        if (Clients.TryRemove((string)c["connection"], out old)) old.Close();
        var width = new Dictionary<string, int> { { "uint8", 1 }, { "uint16", 2 }, { "uint32", 4 }, { "uint64", 8 } }[(string)c["variant"]];
        Clients[(string)c["connection"]] = new Sdk((string)c["host"], (int)(long)c["port"], width);
        return new Fields();
    }

    static List<object> Batch(Fields c, IEnumerable<Fields> requests) { // FILL IN: a single one uses the same code here
        var known = new List<Operation>();
        var asked = new List<Sdk.Request>();
        foreach (var request in requests) {
            Operation operation;
            if (!Operations.TryGetValue((string)request["do"], out operation)) throw new Failure("unsupported", "no operation " + request["do"]);
            known.Add(operation);
            asked.Add(operation.Ask(request));
        }
        var replies = Client(c).Ask(asked);
        return known.Zip(replies, (operation, reply) => (object)operation.Report(reply)).ToList();
    }

    static Fields Close(Fields c) {
        Client(c).Close();
        Sdk gone;
        Clients.TryRemove((string)c["connection"], out gone);
        return new Fields();
    }

    static Sdk Client(Fields c) {
        Sdk found;
        if (!Clients.TryGetValue((string)c["connection"], out found)) throw new Failure("closed", "there is no connection " + c["connection"]);
        return found;
    }

    static void Pushed(string connection, byte[] channel, byte[] payload) {
        Say(new Fields { { "event", "message" }, { "connection", connection }, { "channel", channel == null ? null : Hex(channel) }, { "payload", Hex(payload) } });
    }

    static void Say(Fields message) {
        var line = new UTF8Encoding(false).GetBytes(Json.Text(message) + "\n");
        lock (Output) {
            Output.Write(line, 0, line.Length);
            Output.Flush();
        }
    }

    static ulong Number(Fields c, string name) {
        ulong found;
        if (!ulong.TryParse((string)c[name], NumberStyles.None, CultureInfo.InvariantCulture, out found)) throw new Failure("too_wide", c[name] + " does not fit in 8 bytes");
        return found;
    }

    static byte Word(Fields c, string name) {
        var found = Array.IndexOf(Words[name], (string)c[name]);
        return found >= 0 ? (byte)found : byte.Parse((string)c[name], CultureInfo.InvariantCulture);
    }

    static string Named(string name, byte value) {
        var known = Words[name];
        return value < known.Length && known[value] != "" ? known[value] : value.ToString(CultureInfo.InvariantCulture);
    }

    static byte[] Data(Fields c, string name) {
        var value = (Fields)c[name];
        if (!value.ContainsKey("hex")) return new UTF8Encoding(false).GetBytes((string)value["text"]);
        var digits = (string)value["hex"];
        return Enumerable.Range(0, digits.Length / 2).Select(at => Convert.ToByte(digits.Substring(2 * at, 2), 16)).ToArray();
    }

    static Fields Hex(byte[] bytes) {
        return new Fields { { "hex", string.Concat(bytes.Select(one => one.ToString("x2", CultureInfo.InvariantCulture))) } };
    }
}

class Failure : Exception {
    public readonly string Kind;
    public Failure(string kind, string detail) : base(detail) { Kind = kind; }
}

/// <summary>Stands in for your SDK: INSERT and QUERY, one request after the other. A reply is null for status 00.</summary>
class Sdk {
    public class Request {
        public Func<int, byte[]> Frame;
        public bool IsCounter;
    }

    readonly TcpClient socket = new TcpClient { NoDelay = true, ReceiveTimeout = 3000, SendTimeout = 3000 };
    readonly Stream stream;
    readonly int width;

    public Sdk(string host, int port, int width) {
        this.width = width;
        if (!socket.ConnectAsync(host, port).Wait(3000)) throw new Failure("timeout", "no connection in 3 s");
        stream = socket.GetStream();
    }

    public static Request Insert(ulong quota, byte type, ulong ttl, byte[] key) {
        return new Request { Frame = width => Joined(new byte[] { 1 }, Wide(quota, width), new[] { type }, Wide(ttl, width), Sized(key)) };
    }

    public static Request Query(byte[] key) {
        return new Request { Frame = width => Joined(new byte[] { 2 }, Sized(key)), IsCounter = true };
    }

    public List<object[]> Ask(List<Request> requests) {
        var frames = Joined(requests.Select(one => one.Frame(width)).ToArray());
        stream.Write(frames, 0, frames.Length);
        var replies = new List<object[]>();
        foreach (var one in requests) {
            var status = Read(1)[0];
            if (status > 1) throw new Failure("protocol", "expected status 0 or 1, got " + status);
            replies.Add(status == 0 ? null : one.IsCounter ? new object[] { Whole(), Read(1)[0], Whole() } : new object[0]);
        }
        return replies;
    }

    public void Close() { socket.Close(); }

    byte[] Read(int size) {
        var bytes = new byte[size];
        for (int at = 0, got; at < size; at += got) {
            got = stream.Read(bytes, at, size - at);
            if (got == 0) throw new Failure("closed", "the server closed the connection");
        }
        return bytes;
    }

    ulong Whole() { return Read(width).Reverse().Aggregate(0UL, (sum, one) => sum << 8 | one); }

    static byte[] Wide(ulong value, int width) {
        if (width < 8 && value >> 8 * width != 0) throw new Failure("too_wide", value + " does not fit in " + width + " bytes");
        return Enumerable.Range(0, width).Select(at => (byte)(value >> 8 * at)).ToArray();
    }

    static byte[] Sized(byte[] key) {
        if (key.Length > 255) throw new Failure("too_long", key.Length + " bytes, at most 255 fit");
        return Joined(new[] { (byte)key.Length }, key);
    }

    static byte[] Joined(params byte[][] parts) { return parts.SelectMany(one => one).ToArray(); }
}

/// <summary>As much JSON as the lines need: objects, lists, strings, whole numbers, true, false, null.</summary>
class Json {
    const string Escaped = "bfnrt", Plain = "\b\f\n\r\t";
    readonly string line;
    int at;

    public Json(string line) { this.line = line; }

    public object Value() {
        switch (Next()) {
            case '{': return Object();
            case '[': return List();
            case '"': return String();
            case 't': at += 4; return true;
            case 'f': at += 5; return false;
            case 'n': at += 4; return null;
        }
        var from = at;
        while (at < line.Length && "-0123456789".IndexOf(line[at]) >= 0) at++;
        return long.Parse(line.Substring(from, at - from), CultureInfo.InvariantCulture);
    }

    char Next() {
        while (char.IsWhiteSpace(line[at])) at++;
        return line[at];
    }

    Fields Object() {
        var found = new Fields();
        for (at++; Next() != '}';) {
            if (Next() == ',') { at++; continue; }
            var name = String();
            Next();
            at++;
            found[name] = Value();
        }
        at++;
        return found;
    }

    List<object> List() {
        var found = new List<object>();
        for (at++; Next() != ']';) {
            if (Next() == ',') at++;
            else found.Add(Value());
        }
        at++;
        return found;
    }

    string String() {
        var found = new StringBuilder();
        for (Next(), at++; line[at] != '"'; at++) {
            if (line[at] != '\\') { found.Append(line[at]); continue; }
            var escaped = line[++at];
            if (escaped == 'u') {
                found.Append((char)Convert.ToInt32(line.Substring(at + 1, 4), 16));
                at += 4;
            } else {
                var known = Escaped.IndexOf(escaped);
                found.Append(known < 0 ? escaped : Plain[known]);
            }
        }
        at++;
        return found.ToString();
    }

    public static string Text(object value) {
        if (value == null) return "null";
        if (value is bool) return (bool)value ? "true" : "false";
        if (value is Fields) return "{" + string.Join(",", ((Fields)value).Select(one => Text(one.Key) + ":" + Text(one.Value))) + "}";
        if (!(value is string)) {
            var list = value as IEnumerable;
            return list == null ? Convert.ToString(value, CultureInfo.InvariantCulture) : "[" + string.Join(",", list.Cast<object>().Select(Text)) + "]";
        }
        var escaped = new StringBuilder("\"");
        foreach (var one in (string)value) {
            if (one == '"' || one == '\\') escaped.Append('\\').Append(one);
            else if (one < ' ') escaped.Append("\\u").Append(((int)one).ToString("x4", CultureInfo.InvariantCulture));
            else escaped.Append(one);
        }
        return escaped.Append('"').ToString();
    }
}
