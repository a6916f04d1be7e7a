// A driver for wireproof in C++ (wireproof.driver/1, docs/writing-a-driver.md), C++17 and POSIX, nothing to install:
//   g++ -std=c++17 -O1 -pthread -o driver driver.cpp && wireproof driver check ./driver
// Put your SDK where FILL IN says so; replace Sdk and Json with your SDK and a JSON library.
#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <condition_variable>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using Bytes = std::string;

struct Failure : std::runtime_error {
    std::string kind;
    Failure(std::string kind, const std::string& detail) : std::runtime_error(detail), kind(std::move(kind)) {}
};

/** As much JSON as the lines need. What is no object, list or string is kept as it is written: 7, true, null. */
struct Json {
    enum Kind { Bare, Text, Object, List } kind = Object;
    std::string text;
    std::vector<std::pair<std::string, Json>> fields;  // of an object; of a list, with empty names

    static Json bare(std::string text) { return {Bare, std::move(text), {}}; }
    static Json of(bool value) { return bare(value ? "true" : "false"); }
    static Json of(std::string text) { return {Text, std::move(text), {}}; }
    static Json of(std::vector<std::pair<std::string, Json>> fields) { return {Object, "", std::move(fields)}; }
    static Json list(const std::vector<Json>& items) {
        Json found{List, "", {}};
        for (auto& one : items) found.fields.emplace_back("", one);
        return found;
    }
    const Json* find(const std::string& name) const {
        for (auto& one : fields) if (one.first == name) return &one.second;
        return nullptr;
    }
    const Json& at(const std::string& name) const {
        if (auto found = find(name)) return *found;
        throw Failure("refused", "the field " + name + " is missing");
    }
    std::string written() const {
        if (kind == Bare) return text;
        if (kind == Text) return quoted(text);
        std::string inside;
        for (auto& one : fields)
            inside += (inside.empty() ? "" : ",") + (kind == Object ? quoted(one.first) + ":" : "") + one.second.written();
        return kind == Object ? "{" + inside + "}" : "[" + inside + "]";
    }
    static std::string quoted(const std::string& text) {
        std::string found = "\"";
        char escaped[8];
        for (unsigned char one : text) {
            if (one == '"' || one == '\\') found += '\\', found += char(one);
            else if (one < ' ') snprintf(escaped, sizeof escaped, "\\u%04x", one), found += escaped;
            else found += char(one);
        }
        return found + "\"";
    }
    static Json read(const std::string& line) { size_t at = 0; return read(line, at); }

   private:
    static char next(const std::string& line, size_t& at) {
        while (isspace(static_cast<unsigned char>(line.at(at)))) at++;
        return line[at];
    }
    static Json read(const std::string& line, size_t& at) {
        char first = next(line, at);
        if (first == '"') return of(string(line, at));
        if (first != '{' && first != '[') {
            size_t end = line.find_first_of(",]} \r\n", at), from = at;
            at = end == std::string::npos ? line.size() : end;
            return bare(line.substr(from, at - from));
        }
        Json found{first == '{' ? Object : List, "", {}};
        for (at++; next(line, at) != '}' && line[at] != ']';) {
            if (line[at] == ',') { at++; continue; }
            std::string name;
            if (first == '{') name = string(line, at), next(line, at), at++;
            found.fields.emplace_back(name, read(line, at));
        }
        at++;
        return found;
    }
    static std::string string(const std::string& line, size_t& at) {
        std::string found;
        for (at++; line.at(at) != '"'; at++) {
            if (line[at] != '\\') { found += line[at]; continue; }
            char escaped = line.at(++at);
            size_t known = std::string("bfnrt").find(escaped);
            if (escaped == 'u') {  // wireproof writes UTF-8 as it is; only control characters are escaped
                found += static_cast<char>(std::stoi(line.substr(at + 1, 4), nullptr, 16));
                at += 4;
            } else found += known == std::string::npos ? escaped : "\b\f\n\r\t"[known];
        }
        at++;
        return found;
    }
};

/** Stands in for your SDK: INSERT and QUERY, one request after the other. */
class Sdk {
   public:
    struct Counter { uint64_t quota; uint8_t ttl_type; uint64_t ttl; };
    struct Reply { bool ok; Counter counter; };

    Sdk(const std::string& host, const std::string& port, size_t width) : width(width) {
        addrinfo hints{}, *found = nullptr;
        hints.ai_socktype = SOCK_STREAM;
        if (getaddrinfo(host.c_str(), port.c_str(), &hints, &found)) throw Failure("closed", "no such host");
        fd = socket(found->ai_family, SOCK_STREAM, 0);
        int failed = ::connect(fd, found->ai_addr, found->ai_addrlen), yes = 1;
        freeaddrinfo(found);
        if (failed) { ::close(fd); throw Failure("closed", "cannot connect"); }
        timeval patience{3, 0};
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    }
    ~Sdk() { ::close(fd); }
    Sdk(const Sdk&) = delete;

    Bytes insert(uint64_t quota, uint8_t type, uint64_t ttl, const Bytes& key) const {
        return "\x01" + wide(quota) + char(type) + wide(ttl) + sized(key);
    }
    Bytes query(const Bytes& key) const { return "\x02" + sized(key); }

    std::vector<Reply> ask(const std::vector<Bytes>& frames) {
        Bytes all;
        for (auto& one : frames) all += one;
        for (size_t sent = 0; sent < all.size();) {
            auto count = send(fd, all.data() + sent, all.size() - sent, 0);
            if (count <= 0) throw Failure("closed", "the connection was lost");
            sent += size_t(count);
        }
        std::vector<Reply> replies;
        for (auto& one : frames) {
            auto status = uint8_t(read(1)[0]);
            if (status > 1) throw Failure("protocol", "expected status 0 or 1, got " + std::to_string(status));
            Reply reply{status == 1, {}};
            if (reply.ok && one[0] == 2) {
                reply.counter.quota = whole();
                reply.counter.ttl_type = uint8_t(read(1)[0]);
                reply.counter.ttl = whole();
            }
            replies.push_back(reply);
        }
        return replies;
    }

   private:
    int fd;
    size_t width;

    Bytes wide(uint64_t value) const {
        if (width < 8 && value >> (8 * width)) throw Failure("too_wide", std::to_string(value) + " does not fit");
        Bytes found;
        for (size_t i = 0; i < width; i++) found += char(value >> (8 * i));
        return found;
    }
    static Bytes sized(const Bytes& key) {
        if (key.size() > 255) throw Failure("too_long", std::to_string(key.size()) + " bytes, at most 255 fit");
        return char(key.size()) + key;
    }
    uint64_t whole() {
        uint64_t found = 0;
        Bytes data = read(width);
        for (size_t i = width; i--;) found = found << 8 | uint8_t(data[i]);
        return found;
    }
    Bytes read(size_t count) {
        Bytes found(count, '\0');
        for (size_t at = 0; at < count;) {
            auto more = recv(fd, &found[at], count - at, 0);
            if (more < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) throw Failure("timeout", "no reply in 3 s");
            if (more <= 0) throw Failure("closed", "the server closed the connection");
            at += size_t(more);
        }
        return found;
    }
};

static const char* HELLO =  // FILL IN: name, version and abilities of your SDK
    R"({"protocol_version":"wireproof.driver/1","sdk":{"name":"stub","version":"1.0","language":"C++"},)"
    R"("protocol":"throttr","profiles":["7.1.0","7.3.2"],"variants":["uint8","uint16","uint32","uint64"],)"
    R"("operations":["insert","query","batch"],"binary_safe":true,"largest_number":"18446744073709551615"})";

static const std::map<std::string, std::map<std::string, uint64_t>> WORDS = {  // numbers that have names
    {"ttl_type", {{"nanoseconds", 1}, {"microseconds", 2}, {"milliseconds", 3}, {"seconds", 4}, {"minutes", 5}, {"hours", 6}}},
    {"attribute", {{"quota", 0}, {"ttl", 1}}},
    {"change", {{"patch", 0}, {"increase", 1}, {"decrease", 2}}},
    {"key_type", {{"counter", 0}, {"buffer", 1}}},
};

static uint64_t number(const Json& c, const std::string& name) {
    auto& text = c.at(name).text;
    auto words = WORDS.find(name);
    if (words != WORDS.end() && words->second.count(text)) return words->second.at(text);
    try {
        return std::stoull(text);
    } catch (const std::out_of_range&) {
        throw Failure("too_wide", name + " has more than 64 bits");
    }
}
static std::string named(const std::string& name, uint64_t value) {
    for (auto& one : WORDS.at(name)) if (one.second == value) return one.first;
    return std::to_string(value);
}
static Bytes data(const Json& c, const std::string& name) {
    if (auto text = c.at(name).find("text")) return text->text;
    Bytes found;
    auto& digits = c.at(name).at("hex").text;
    for (size_t i = 0; i + 1 < digits.size(); i += 2) found += char(std::stoi(digits.substr(i, 2), nullptr, 16));
    return found;
}
static Json hex(const Bytes& bytes) {
    std::string found;
    char two[3];
    for (unsigned char one : bytes) snprintf(two, sizeof two, "%02x", one), found += two;
    return Json::of({{"hex", Json::of(found)}});
}

struct Operation {
    std::function<Bytes(const Sdk&, const Json&)> ask;
    std::function<Json(const Sdk::Reply&)> report;
};

// FILL IN: one entry an operation. The others, and their fields and results, are in docs/drivers/README.md.
static const std::map<std::string, Operation> OPERATIONS = {
    {"insert", {
        [](const Sdk& sdk, const Json& c) {
            return sdk.insert(number(c, "quota"), uint8_t(number(c, "ttl_type")), number(c, "ttl"), data(c, "key"));
        },
        [](const Sdk::Reply& reply) { return Json::of({{"status", Json::of(reply.ok)}}); },
    }},
    {"query", {
        [](const Sdk& sdk, const Json& c) { return sdk.query(data(c, "key")); },
        [](const Sdk::Reply& reply) {
            if (!reply.ok) return Json::of({{"status", Json::of(false)}});
            auto& found = reply.counter;
            return Json::of({{"quota", Json::of(std::to_string(found.quota))}, {"ttl_type", Json::of(named("ttl_type", found.ttl_type))},
                             {"ttl", Json::of(std::to_string(found.ttl))}});
        },
    }},
};

static std::mutex keeping;  // of clients
static std::map<std::string, std::shared_ptr<Sdk>> clients;

static Json connect(const Json& c) {  // FILL IN: connect. When a message is pushed, call pushed()
    static const std::map<std::string, size_t> WIDTHS = {{"uint8", 1}, {"uint16", 2}, {"uint32", 4}, {"uint64", 8}};
    auto& name = c.at("connection").text;
    auto sdk = std::make_shared<Sdk>(c.at("host").text, c.at("port").text, WIDTHS.at(c.at("variant").text));
    std::lock_guard<std::mutex> kept(keeping);
    clients[name] = sdk;
    return {};
}

static std::shared_ptr<Sdk> client(const Json& c, bool ends = false) {
    std::lock_guard<std::mutex> kept(keeping);
    auto found = clients.find(c.at("connection").text);
    if (found == clients.end()) throw Failure("closed", "there is no connection " + c.at("connection").text);
    auto sdk = found->second;
    if (ends) clients.erase(found);
    return sdk;
}

static std::vector<Json> batch(const Json& c, const std::vector<Json>& requests) {  // FILL IN: a single one uses the same code here
    std::vector<Bytes> frames;
    for (auto& one : requests)
        if (!OPERATIONS.count(one.at("do").text)) throw Failure("unsupported", "no operation " + one.at("do").text);
    auto sdk = client(c);
    for (auto& one : requests) frames.push_back(OPERATIONS.at(one.at("do").text).ask(*sdk, one));
    auto replies = sdk->ask(frames);
    std::vector<Json> results;
    for (size_t i = 0; i < replies.size(); i++) results.push_back(OPERATIONS.at(requests[i].at("do").text).report(replies[i]));
    return results;
}

static void say(const Json& message) {
    static std::mutex writing;
    std::lock_guard<std::mutex> kept(writing);
    std::cout << message.written() << std::endl;
}

[[maybe_unused]] static void pushed(const std::string& connection, const std::optional<Bytes>& channel, const Bytes& payload) {
    say(Json::of({{"event", Json::of(std::string("message"))}, {"connection", Json::of(connection)},
                  {"channel", channel ? hex(*channel) : Json::bare("null")}, {"payload", hex(payload)}}));
}

static Json done(const Json& c) {
    auto& name = c.at("do").text;
    if (name == "hello") return Json::bare(HELLO);
    if (name == "connect") return connect(c);
    if (name == "quit") return {};
    if (name == "close") return client(c, true), Json{};
    if (name != "batch") return batch(c, {c})[0];
    std::vector<Json> requests;
    for (auto& one : c.at("requests").fields) requests.push_back(one.second);
    return Json::of({{"results", Json::list(batch(c, requests))}});
}

static void answer(const Json& c) {
    std::pair<std::string, Json> id{"id", c.at("id")};
    std::string kind = "other", detail;
    try {
        return say(Json::of({id, {"ok", Json::of(true)}, {"result", done(c)}}));
    } catch (const Failure& error) {  // FILL IN: the kinds of your SDK's errors
        kind = error.kind, detail = error.what();
    } catch (const std::exception& error) {
        detail = error.what();
    }
    say(Json::of({id, {"ok", Json::of(false)}, {"error", Json::of({{"kind", Json::of(kind)}, {"told", Json::of(detail)}})}}));
}

/** Commands of one connection, one after the other in a thread of its own: none waits for another connection. */
class Worker {
   public:
    Worker() { std::thread([this] { for (;;) answer(next()); }).detach(); }
    void add(Json c) {
        std::lock_guard<std::mutex> kept(lock);
        commands.push_back(std::move(c));
        more.notify_one();
    }

   private:
    std::mutex lock;
    std::condition_variable more;
    std::deque<Json> commands;

    Json next() {
        std::unique_lock<std::mutex> kept(lock);
        more.wait(kept, [this] { return !commands.empty(); });
        Json c = std::move(commands.front());
        commands.pop_front();
        return c;
    }
};

int main() {
    signal(SIGPIPE, SIG_IGN);
    static std::map<std::string, Worker> workers;
    for (std::string line; std::getline(std::cin, line);) {
        Json c = Json::read(line);
        if (auto connection = c.find("connection")) workers[connection->text].add(c);
        else answer(c);
        if (c.at("do").text == "quit") break;
    }
    std::_Exit(0);
}
