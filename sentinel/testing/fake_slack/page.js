// Asks every second whether the channel has changed, and shows it if so.
"use strict";

const box = document.getElementById("messages");
let version = box.dataset.version;

function atBottom() {
  return box.scrollHeight - box.scrollTop - box.clientHeight < 80;
}

function toBottom() {
  box.scrollTop = box.scrollHeight;
}

async function refresh() {
  try {
    const answer = await fetch(`/channel/${encodeURIComponent(box.dataset.channel)}/messages?seen=${version}`);
    document.body.classList.remove("gone");
    if (answer.status === 200) {
      const follow = atBottom();
      // Every text in it was escaped by the server.
      box.innerHTML = await answer.text();
      version = answer.headers.get("X-Version");
      if (follow) toBottom();
    }
  } catch (error) {
    // The demo has ended; what was last shown stays readable.
    document.body.classList.add("gone");
  }
  setTimeout(refresh, 1000);
}

toBottom();
setTimeout(refresh, 1000);
