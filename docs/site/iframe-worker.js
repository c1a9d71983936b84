// Browsers start no worker from a page on disk. There the search's worker runs in a hidden frame instead, so that pages can be
// searched without a server.
if (location.protocol === "file:") {
  globalThis.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      const inside = frame.contentWindow;
      this.send = inside.postMessage.bind(inside);
      inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", {data}));
      const script = inside.document.createElement("script");
      script.src = url;
      this.loaded = new Promise((done) => { script.onload = done; });
      inside.document.body.append(script);
    }

    postMessage(data) {
      this.loaded.then(() => this.send(data, "*"));
    }
  };
}
