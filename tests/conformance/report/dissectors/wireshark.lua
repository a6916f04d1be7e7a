-- As much of Wireshark's Lua API as the generated dissectors use. Trees become tables: {label, field, start, stop, ...}.
base = { NONE = 0 }
frametype = { REQUEST = 1 }
DESEGMENT_ONE_MORE_SEGMENT = -1
UInt64 = { new = function(value) return value end }

local function field(kind)
  return function(abbreviation, name) return { kind = kind, abbreviation = abbreviation, name = name } end
end
ProtoField = { string = field("string"), framenum = field("framenum"), bytes = field("bytes") }
ProtoField.uint64, ProtoField.int64 = field("uint64"), field("int64")

PORTS = {}
DissectorTable = {
  get = function(name)
    return { add = function(_, port, proto) PORTS[name .. " " .. port] = proto end }
  end,
}

function Proto(name, description)
  return { name = name, description = description, is_proto = true }
end

local Tvb = {}
Tvb.__index = Tvb
function Tvb:len() return #self.data end
function Tvb:raw(at, size)
  assert(at + size <= #self.data, "raw: out of bounds")
  return self.data:sub(at + 1, at + size)
end
function Tvb:range(at, size)
  assert(at >= 0 and size >= 0 and at + size <= #self.data, "range: out of bounds")
  return { start = at, stop = at + size, is_range = true }
end

local Item = {}
Item.__index = Item
local function item(label, range)
  return setmetatable({ label = label, start = range and range.start, stop = range and range.stop }, Item)
end
function Item:add(what, range, value)
  assert(what, "add: no such field")
  local made = item(what.is_proto and value or what.abbreviation, type(range) == "table" and range or nil)
  made.field = not what.is_proto and what.kind or nil
  if type(range) == "table" then made.value = value else made.value = range end
  self[#self + 1] = made
  return made
end
function Item:add_le(what, range)
  local made = self:add(what, range)
  made.little = true
  return made
end
function Item:append_text(text) self.text = (self.text or "") .. text end

-- Begin another capture.
function reset()
  for _, proto in pairs(PORTS) do proto.init() end
end

-- Dissect one packet; return the tree, what is left for the next segment, and the columns.
function dissect(where, number, from_client, data, visited)
  local proto = PORTS[where]
  local port = tonumber(where:match("%d+$"))
  local ports = from_client and { 40000, port } or { port, 40000 }
  local pinfo = {
    number = number, visited = visited, src = "127.0.0.1", dst = "127.0.0.1", src_port = ports[1], dst_port = ports[2],
    port_type = where:sub(1, 3) == "tcp" and 2 or 3, match_uint = port, cols = {}, desegment_len = 0,
  }
  local tree = item("frame")
  proto.dissector(setmetatable({ data = data }, Tvb), pinfo, tree)
  local left = pinfo.desegment_len ~= 0 and pinfo.desegment_offset or #data
  return tree, left, pinfo.cols.info
end
