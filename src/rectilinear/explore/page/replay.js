
// A page without a server: its model answers from the runs it holds.
const documents = JSON.parse(document.getElementById("documents").textContent);
const listeners = [];

function told(message) {
  for (const listener of listeners) listener(message);
}

const model = {
  replays: true,
  on: (_, listener) => listeners.push(listener),
  send(message) {
    if (message.kind === "hello") return setTimeout(() => told(documents[0]));
    for (const known of documents.slice(1)) {
      if (known.state.name === message.state.name) setTimeout(() => told({ ...known, id: message.id }));
    }
  },
  address: {
    read: () => location.hash.slice(1),
    write: (text) => history.replaceState(null, "", `#${text}`),
  },
};

explorer.render({ model, el: document.body });
