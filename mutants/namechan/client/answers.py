"""Mutants in what the SDK makes of an answer, and in whose it is."""

from __future__ import annotations

from wireproof.mutants.edits import edit, first
from wireproof.mutants.namechan.client.mutant import answered, mutant

__all__ = ["MUTANTS"]

KNOWN = 'known = {b"": layout, layout.message.NAME.capitalize().encode(): layout}'
REFUSED = "raise _refused(request, reply)"
READ = "return message_of(read_sexp(buf[begin:end]), known.get), end"
POPPED = "_, waiting = self._asked.pop(id(self._codec.answered), (None, None))"
MUTANTS = (
    mutant("record-behind-constructor-unread", "A record after its constructor is not read.", "8 9",
           edit("_record_codec", KNOWN, 'known = {b"": layout}')),
    mutant("record-alone-unread", "A record that stands alone is not read.", "8 9",
           edit("_record_codec", KNOWN, "known = {layout.message.NAME.capitalize().encode(): layout}")),
    mutant("constructor-of-subscribed-for-both", "Unsubscribed is read only after the constructor Subscribed.", "9",
           edit("_record_codec", KNOWN, 'known = {b"": layout, b"Subscribed": layout}')),
    mutant("topic-id-signed", "A topic id has 31 bits.", "8 15", answered("SUBSCRIBED", "id", "reply.id & 0x7FFFFFFF")),
    mutant("topic-id-of-16-bits", "A topic id has 16 bits.", "8 15", answered("SUBSCRIBED", "id", "reply.id & 0xFFFF")),
    mutant("topic-id-lost", "Subscribed is reported without its id.", "8", answered("SUBSCRIBED", "id", "0")),
    mutant("unsubscribed-id-lost", "Unsubscribed is reported without its id.", "9", answered("UNSUBSCRIBED", "id", "0")),
    mutant("topic-of-answer-lost", "Subscribed is reported without the topic.", "8", answered("SUBSCRIBED", "topic", 'b""')),
    mutant("members-in-order", "The members of a record are read in one order.", "10",
           first("_members", "if [one.items[0].value for one in items if getattr(one, 'items', None) and hasattr(one.items[0], 'value')] != [name.encode() for name, _ in layout.fields]:",
                 "    raise SexpError('another order', at)")),
    mutant("unknown-members-left-aside", "A member of a record that is unknown is left aside.", "20",
           edit("_members", "if name not in known or name in values:", "if name not in known: continue", "if name in values:")),
    mutant("members-repeated", "A member of a record that stands twice counts as it stood first.", "20",
           edit("_members", "if name not in known or name in values:", "if name in values: continue", "if name not in known:")),
    mutant("compact-records-only", "Only the compact form of a record is read.", "10",
           edit("_record_codec", READ, "if any(one in buf[begin:end].strip() for one in (b'\\n', b') (', b';', b'#', b'\"', b'( ')): raise SexpError('not compact', 0)", READ)),
    mutant("records-without-comments", "Comments in a record are not read.", "10",
           edit("_record_codec", READ, "if b';' in buf[begin:end] or b'#' in buf[begin:end]: raise SexpError('a comment', 0)", READ)),
    mutant("escapes-unread", "Escapes in a record are left as they are.", "10",
           edit("_record_codec", READ, "if b'\\\\' in buf[begin:end]: raise SexpError('an escape', 0)", READ)),
    mutant("errors-are-success", "An Error is reported as Subscribed.", "11",
           edit("Client.ask", REFUSED, "return (Unsubscribed if request.NAME == 'UNSUBSCRIBE' else Subscribed)(0, request.topic)")),
    mutant("error-text-lost", "The text of an Error is not reported.", "11", answered("ERROR", "text", 'b""')),
    mutant("error-text-cut", "The text of an Error is cut at 255 bytes.", "11", answered("ERROR", "text", "reply.text[:255]")),
    mutant("error-text-decoded", "The text of an Error is decoded, and what is no UTF-8 replaced.", "11",
           answered("ERROR", "text", "reply.text.decode('utf-8', 'replace').encode()")),
    mutant("error-text-trimmed", "White space around the text of an Error is taken off.", "11", answered("ERROR", "text", "reply.text.strip()")),
    mutant("error-ends-connection", "On an Error the client closes.", "11",
           edit("Client.ask", REFUSED, "await self.close()", REFUSED)),
    mutant("errors-without-text-ignored", "An Error without text is left aside.", "11",
           first("MatchedLink._answer", "if reply.NAME == 'ERROR' and not reply.text: return")),
    mutant("error-answers-all", "An Error answers everything that waits.", "12 11",
           edit("MatchedLink._answer", POPPED, POPPED, "for _, one in self._asked.values():",
                "    if reply.NAME == 'ERROR' and not one.done(): one.set_result(reply)")),
    mutant("newest-answered-first", "An answer is given to the request that was sent last.", "12 11",
           edit("NamechanClient._accept", "self._due.popleft() if", "self._due.pop() if"),
           edit("NamechanClient._decode_next", "if isinstance(message, Reply) and type(message) not in due:", "if False:"),
           edit("TopicLink._named", "if request is None or reply.topic != asked:", "if False:")),
    mutant("errors-answer-the-newest", "An Error is given to the request that was sent last.", "12 11",
           edit("NamechanClient._accept", "self._due.popleft() if", "(self._due.pop() if message.NAME == 'ERROR' else self._due.popleft()) if")),
    mutant("half-of-many", "No more than thirty requests are sent before one is answered.", "12",
           edit("Client.ask", "await link.drained()", "while len(link._asked) >= 30: await asyncio.sleep(0.01)")),
)  # fmt: skip
