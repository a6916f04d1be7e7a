'use strict';

// Who is subscribed to what.

class Channels {
  constructor(clock) {
    this.clock = clock;
    this.byName = new Map();
    this.subscriptions = 0;
  }

  get(name) {
    return this.byName.get(name);
  }

  // False where this connection is subscribed already.
  subscribe(connection, name) {
    let channel = this.byName.get(name);
    if (!channel) {
      channel = { name, read: 0, written: 0, members: new Map() };
      this.byName.set(name, channel);
    }
    if (channel.members.has(connection)) return false;
    channel.members.set(connection, { since: this.clock.now(), read: 0, written: 0 });
    connection.channels.add(name);
    this.subscriptions += 1;
    return true;
  }

  unsubscribe(connection, name) {
    const channel = this.byName.get(name);
    if (!channel || !channel.members.delete(connection)) return false;
    connection.channels.delete(name);
    this.subscriptions -= 1;
    if (channel.members.size === 0) this.byName.delete(name);
    return true;
  }

  leave(connection) {
    for (const name of [...connection.channels]) this.unsubscribe(connection, name);
  }

  // How many subscriptions received it. The publisher's own copy comes after its answer.
  publish(publisher, name, payload, frame) {
    const channel = this.byName.get(name);
    publisher.published += payload.length;
    if (!channel) return 0;
    const own = channel.members.get(publisher);
    if (own) {
      own.written += payload.length;
      channel.written += payload.length;
    }
    const members = [...channel.members];
    for (const [connection, subscription] of members) {
      subscription.read += payload.length;
      channel.read += payload.length;
      connection.received += payload.length;
      if (connection === publisher) connection.afterwards.push(frame);
      else connection.push(frame);
    }
    return members.length;
  }

  list() {
    return [...this.byName.values()];
  }
}

module.exports = { Channels };
