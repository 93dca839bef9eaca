// The page of a local server: a model whose messages go over a websocket.
import explorer from "./explorer.js";

const TRY_AGAIN = 1000; // milliseconds
const WRONG_TOKEN = 4401;

const token = new URLSearchParams(location.hash.slice(1)).get("token") ?? "";
const listeners = [];
let socket = null;

function told(message) {
  for (const listener of listeners) listener(message);
}

function connect() {
  socket = new WebSocket(`${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/socket`);
  socket.onopen = () => socket.send(JSON.stringify({ kind: "hello", token }));
  socket.onmessage = (event) => told(JSON.parse(event.data));
  socket.onclose = (event) => {
    if (event.code === WRONG_TOKEN) {
      told({ kind: "gone", text: "This address has not the key of the running server: open the one that “rectilinear explore” printed." });
    } else {
      told({ kind: "gone", text: "The server is gone; the page keeps what it has and tries again." });
      setTimeout(connect, TRY_AGAIN);
    }
  };
}

const model = {
  on: (_, listener) => listeners.push(listener),
  send: (message) => message.kind !== "hello" && socket?.readyState === WebSocket.OPEN && socket.send(JSON.stringify(message)),
  address: {
    read: () => location.hash.slice(1),
    write: (text) => history.replaceState(null, "", `#${token ? `token=${token}&` : ""}${text}`),
  },
};

explorer.render({ model, el: document.body });
connect();
