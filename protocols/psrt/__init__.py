"""PSRT: publish and subscribe over a control socket, a data socket for each client, and datagrams; errata P1.. ."""

from wireproof.protocols.changes import xor
from wireproof.protocols.links import Link
from wireproof.protocols.psrt.codec import Codec, UnfinishedTopicError
from wireproof.protocols.psrt.connection import ControlClient, ControlServer, DataClient, DataServer
from wireproof.protocols.psrt.datagrams import DatagramClient, DatagramServer
from wireproof.protocols.psrt.enums import PROTOCOL_VERSION, DatagramOperation, Encryption, Mode, ResponseCode
from wireproof.protocols.psrt.meaning import canonical, link_of_stream, parts, unsealed
from wireproof.protocols.psrt.profiles import CONTROL, DATA, DATAGRAMS, PROFILES, PSRTD, V1
from wireproof.protocols.psrt.replies import Beacon, Response
from wireproof.protocols.psrt.requests import (
    Attach,
    Bye,
    Datagram,
    DataGreeting,
    Greeting,
    Login,
    Nop,
    Publish,
    PublishRepl,
    ReplData,
    Sealed,
)
from wireproof.protocols.psrt.sealing import seal
from wireproof.protocols.psrt.states import State
from wireproof.protocols.registry import Protocol
from wireproof.protocols.sdk_traits import SdkTraits

PROTOCOL = Protocol(
    name="psrt",
    profiles=PROFILES,
    default_profile="1",
    default_variant="standard",
    default_port=2873,
    codec=Codec.of,
    links={
        "control": Link(
            client=ControlClient,
            server=ControlServer,
            sync_request=Nop,
            noop=lambda name: (Nop(), Response(ResponseCode.OK)),
            handshake=lambda: (Greeting(Mode.PLAIN), Login(b"", b"")),
            tls=True,
            half_closes=False,
            requests=CONTROL,
            continued={PublishRepl: (ReplData, "code", ResponseCode.OK_WAITING)},
            keeps_alive=True,
        ),
        "data": Link(
            client=DataClient,
            server=DataServer,
            tls=True,
            half_closes=False,
            drops_slow_readers=True,
            requests=DATA,
            in_silence=(Beacon,),
        ),
        "datagram": Link(
            client=DatagramClient,
            server=DatagramServer,
            sync_request=lambda: Datagram(
                PROTOCOL_VERSION, Encryption.PLAIN, b"", b"", DatagramOperation.PUBLISH, 0x7F, b"wireproof/barrier", b""
            ),
            transport="datagram",
            requests=DATAGRAMS,
            selected_by={(Datagram, "encryption"): Encryption.PLAIN},
        ),
    },
    names={"code": ResponseCode, "op": DatagramOperation, "mode": Mode, "encryption": Encryption},
    masked=frozenset({"token"}),
    named_by=frozenset({"topic", "topics"}),
    functions={"seal": seal, "xor": xor},
    push_link="data",
    link_of_stream=link_of_stream,
    sdk=SdkTraits(
        own=frozenset({Greeting, Login, Nop, DataGreeting, Attach, Sealed, Beacon}),
        continued={PublishRepl: ReplData},
        hidden_fields=frozenset({"version"}),
        connect_fields={
            "login": "bytes",
            "password": "bytes",
            "timeout": "seconds",
            "tls": ("none", "starttls"),
            "ca": "path",
        },
        samples={
            "version": PROTOCOL_VERSION,
            "encryption": Encryption.PLAIN,
            "login": b"",
            "password": b"",
            "op": DatagramOperation.PUBLISH,
            "priority": 0x7F,
            "topic": b"wireproof/check",
            "topics": b"wireproof/check",
        },
        optional=frozenset({"priority"}),
        parting={Bye: Response(ResponseCode.OK)},
        canonical=canonical,
        parts=parts,
        unsealed=unsealed,
        probe=lambda name: (Publish(0x7F, name, b""), Response(ResponseCode.OK)),
    ),
)

__all__ = [
    "PROFILES",
    "PROTOCOL",
    "PSRTD",
    "V1",
    "Codec",
    "ControlClient",
    "ControlServer",
    "DataClient",
    "DataServer",
    "DatagramClient",
    "DatagramServer",
    "Encryption",
    "Mode",
    "ResponseCode",
    "State",
    "UnfinishedTopicError",
]
