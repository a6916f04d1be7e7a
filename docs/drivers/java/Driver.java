// A driver for wireproof in Java (wireproof.driver/1, docs/writing-a-driver.md), Java 17 or newer, nothing to install:
//   wireproof driver check 'java Driver.java'
// Put your SDK where FILL IN says so; replace the classes Sdk and Json at the end.
import java.io.*;
import java.math.BigInteger;
import java.net.*;
import java.nio.charset.StandardCharsets;
import java.util.*;
import java.util.concurrent.*;
import java.util.function.Function;

public class Driver {
    static final Map<String, Object> HELLO = object( // FILL IN: name, version and abilities of your SDK
        "protocol_version", "wireproof.driver/1",
        "sdk", object("name", "stub", "version", "1.0", "language", "Java"),
        "protocol", "throttr",
        "profiles", List.of("7.1.0", "7.3.2"),
        "variants", List.of("uint8", "uint16", "uint32", "uint64"),
        "operations", List.of("insert", "query", "batch"),
        "binary_safe", true,
        "largest_number", "18446744073709551615");

    static final Map<String, List<String>> WORDS = Map.of( // numbers that have names, from 0; ttl_type has no 0
        "ttl_type", List.of("", "nanoseconds", "microseconds", "milliseconds", "seconds", "minutes", "hours"),
        "attribute", List.of("quota", "ttl"),
        "change", List.of("patch", "increase", "decrease"),
        "key_type", List.of("counter", "buffer"));

    /** The request to your SDK and the result of its reply. */
    record Operation(Function<Map<String, Object>, Sdk.Request> ask, Function<Object[], Map<String, Object>> report) {}

    // FILL IN: one entry an operation. The others, and their fields and results, are in docs/drivers/README.md.
    static final Map<String, Operation> OPERATIONS = Map.of(
        "insert", new Operation(
            c -> Sdk.insert(number(c, "quota"), word(c, "ttl_type"), number(c, "ttl"), data(c, "key")),
            reply -> object("status", reply != null)),
        "query", new Operation(
            c -> Sdk.query(data(c, "key")),
            reply -> reply == null ? object("status", false)
                : object("quota", reply[0].toString(), "ttl_type", named("ttl_type", (int) reply[1]), "ttl", reply[2].toString())));

    static final Map<String, Sdk> clients = new ConcurrentHashMap<>();
    static final Map<String, Executor> workers = new HashMap<>(); // one thread a connection: in order there, and none waits for another

    static Executor worker(String connection) {
        return workers.computeIfAbsent(connection, name -> Executors.newSingleThreadExecutor(task -> {
            Thread thread = new Thread(task);
            thread.setDaemon(true);
            return thread;
        }));
    }

    static Map<String, Object> connect(Map<String, Object> c) throws IOException { // FILL IN: when a message is pushed, call pushed()
        Sdk old = clients.remove(c.get("connection"));
        if (old != null) old.close();
        int width = Map.of("uint8", 1, "uint16", 2, "uint32", 4, "uint64", 8).get(c.get("variant"));
        clients.put((String) c.get("connection"), new Sdk((String) c.get("host"), ((BigInteger) c.get("port")).intValue(), width));
        return object();
    }

    @SuppressWarnings("unchecked")
    static List<Object> batch(Map<String, Object> c, List<?> requests) throws IOException { // FILL IN: a single one uses the same code here
        List<Sdk.Request> asked = new ArrayList<>();
        List<Operation> known = new ArrayList<>();
        for (Object one : requests) {
            Map<String, Object> request = (Map<String, Object>) one;
            Operation operation = OPERATIONS.get(request.get("do"));
            if (operation == null) throw new Failure("unsupported", "no operation " + request.get("do"));
            known.add(operation);
            asked.add(operation.ask().apply(request));
        }
        List<Object[]> replies = client(c).ask(asked);
        List<Object> results = new ArrayList<>();
        for (int i = 0; i < replies.size(); i++) results.add(known.get(i).report().apply(replies.get(i)));
        return results;
    }

    static Map<String, Object> close(Map<String, Object> c) throws IOException {
        client(c).close();
        clients.remove(c.get("connection"));
        return object();
    }

    static Sdk client(Map<String, Object> c) {
        Sdk found = clients.get(c.get("connection"));
        if (found == null) throw new Failure("closed", "there is no connection " + c.get("connection"));
        return found;
    }

    static void pushed(String connection, byte[] channel, byte[] payload) {
        say(object("event", "message", "connection", connection, "channel", channel == null ? null : hex(channel), "payload", hex(payload)));
    }

    static Object run(Map<String, Object> c) throws IOException {
        return switch ((String) c.get("do")) {
            case "hello" -> HELLO;
            case "connect" -> connect(c);
            case "batch" -> object("results", batch(c, (List<?>) c.get("requests")));
            case "close" -> close(c);
            case "quit" -> object();
            default -> batch(c, List.of(c)).get(0);
        };
    }

    @SuppressWarnings("unchecked")
    public static void main(String[] arguments) throws IOException {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line; (line = lines.readLine()) != null; ) {
            Map<String, Object> c = (Map<String, Object>) new Json(line).value();
            if (c.containsKey("connection")) worker((String) c.get("connection")).execute(() -> answer(c));
            else answer(c);
            if (c.get("do").equals("quit")) System.exit(0); // an SDK's own threads may run on
        }
    }

    static void answer(Map<String, Object> c) {
        try {
            say(object("id", c.get("id"), "ok", true, "result", run(c)));
        } catch (Exception error) { // FILL IN: the kinds of your SDK's errors
            String kind = error instanceof Failure one ? one.kind
                : error instanceof SocketTimeoutException ? "timeout" : error instanceof IOException ? "closed" : "other";
            say(object("id", c.get("id"), "ok", false, "error", object("kind", kind, "told", String.valueOf(error.getMessage()))));
        }
    }

    static synchronized void say(Map<String, Object> message) {
        byte[] line = (Json.text(message) + "\n").getBytes(StandardCharsets.UTF_8);
        System.out.write(line, 0, line.length);
        System.out.flush();
    }

    static BigInteger number(Map<String, Object> c, String name) { return new BigInteger((String) c.get(name)); }
    static int word(Map<String, Object> c, String name) {
        int found = WORDS.get(name).indexOf(c.get(name));
        return found >= 0 ? found : Integer.parseInt((String) c.get(name));
    }
    static String named(String name, int value) {
        List<String> known = WORDS.get(name);
        return value < known.size() && !known.get(value).isEmpty() ? known.get(value) : Integer.toString(value);
    }
    static byte[] data(Map<String, Object> c, String name) {
        Map<?, ?> value = (Map<?, ?>) c.get(name);
        return value.containsKey("hex") ? HexFormat.of().parseHex((String) value.get("hex"))
            : ((String) value.get("text")).getBytes(StandardCharsets.UTF_8);
    }
    static Map<String, Object> hex(byte[] bytes) { return object("hex", HexFormat.of().formatHex(bytes)); }
    static Map<String, Object> object(Object... pairs) {
        Map<String, Object> found = new LinkedHashMap<>();
        for (int i = 0; i < pairs.length; i += 2) found.put((String) pairs[i], pairs[i + 1]);
        return found;
    }

    static class Failure extends RuntimeException {
        final String kind;
        Failure(String kind, String detail) { super(detail); this.kind = kind; }
    }

    /** Stands in for your SDK: INSERT and QUERY, one request after the other. A reply is null for status 00. */
    static class Sdk {
        interface Encoder { byte[] encode(int width); }
        record Request(Encoder frame, boolean counter) {}
        private final Socket socket = new Socket();
        private final DataInputStream in;
        private final int width;

        Sdk(String host, int port, int width) throws IOException {
            this.width = width;
            socket.connect(new InetSocketAddress(host, port), 3000);
            socket.setSoTimeout(3000);
            socket.setTcpNoDelay(true);
            in = new DataInputStream(new BufferedInputStream(socket.getInputStream()));
        }

        static Request insert(BigInteger quota, int type, BigInteger ttl, byte[] key) {
            return new Request(width -> joined(new byte[] {1}, wide(quota, width), new byte[] {(byte) type}, wide(ttl, width), sized(key)), false);
        }

        static Request query(byte[] key) { return new Request(width -> joined(new byte[] {2}, sized(key)), true); }

        List<Object[]> ask(List<Request> requests) throws IOException {
            ByteArrayOutputStream frames = new ByteArrayOutputStream();
            for (Request one : requests) frames.write(one.frame().encode(width));
            socket.getOutputStream().write(frames.toByteArray());
            List<Object[]> replies = new ArrayList<>();
            for (Request one : requests) {
                int status = in.readUnsignedByte();
                if (status > 1) throw new Failure("protocol", "expected status 0 or 1, got " + status);
                if (status == 0) replies.add(null);
                else replies.add(one.counter() ? new Object[] {whole(), in.readUnsignedByte(), whole()} : new Object[0]);
            }
            return replies;
        }

        void close() throws IOException { socket.close(); }

        private BigInteger whole() throws IOException {
            byte[] bytes = new byte[width];
            for (int i = width - 1; i >= 0; i--) bytes[i] = in.readByte();
            return new BigInteger(1, bytes);
        }

        private static byte[] wide(BigInteger value, int width) {
            if (value.signum() < 0 || value.bitLength() > 8 * width) throw new Failure("too_wide", value + " does not fit in " + width + " bytes");
            byte[] bytes = new byte[width];
            for (int i = 0; i < width; i++) bytes[i] = value.shiftRight(8 * i).byteValue();
            return bytes;
        }

        private static byte[] sized(byte[] key) {
            if (key.length > 255) throw new Failure("too_long", key.length + " bytes, at most 255 fit");
            return joined(new byte[] {(byte) key.length}, key);
        }

        private static byte[] joined(byte[]... parts) {
            ByteArrayOutputStream all = new ByteArrayOutputStream();
            for (byte[] one : parts) all.writeBytes(one);
            return all.toByteArray();
        }
    }

    /** As much JSON as the lines need: objects, lists, strings, whole numbers, true, false, null. */
    static class Json {
        private final String line;
        private int at;
        Json(String line) { this.line = line; }

        private char next() {
            while (Character.isWhitespace(line.charAt(at))) at++;
            return line.charAt(at);
        }

        Object value() {
            switch (next()) {
                case '{': { Map<String, Object> found = new LinkedHashMap<>();
                    for (at++; next() != '}'; ) { if (next() == ',') { at++; continue; } String name = string(); next(); at++; found.put(name, value()); }
                    at++; return found; }
                case '[': { List<Object> found = new ArrayList<>();
                    for (at++; next() != ']'; ) { if (next() == ',') { at++; continue; } found.add(value()); }
                    at++; return found; }
                case '"': return string();
                case 't': at += 4; return true;
                case 'f': at += 5; return false;
                case 'n': at += 4; return null;
            }
            int from = at;
            while (at < line.length() && "-0123456789".indexOf(line.charAt(at)) >= 0) at++;
            return new BigInteger(line.substring(from, at));
        }

        private String string() {
            StringBuilder found = new StringBuilder();
            for (next(), at++; line.charAt(at) != '"'; at++) {
                if (line.charAt(at) != '\\') { found.append(line.charAt(at)); continue; }
                char escaped = line.charAt(++at);
                if (escaped == 'u') { found.append((char) Integer.parseInt(line.substring(at + 1, at + 5), 16)); at += 4; }
                else { int known = "bfnrt".indexOf(escaped); found.append(known < 0 ? escaped : "\b\f\n\r\t".charAt(known)); }
            }
            at++;
            return found.toString();
        }

        static String text(Object value) {
            StringJoiner found;
            if (value instanceof Map<?, ?> map) { found = new StringJoiner(",", "{", "}"); map.forEach((name, one) -> found.add(text(name) + ":" + text(one))); return found.toString(); }
            if (value instanceof List<?> list) { found = new StringJoiner(",", "[", "]"); list.forEach(one -> found.add(text(one))); return found.toString(); }
            if (!(value instanceof String)) return String.valueOf(value);
            StringBuilder escaped = new StringBuilder("\"");
            for (char one : ((String) value).toCharArray())
                escaped.append(one == '"' || one == '\\' ? "\\" + one : one < ' ' ? String.format("\\u%04x", (int) one) : String.valueOf(one));
            return escaped.append('"').toString();
        }
    }
}
