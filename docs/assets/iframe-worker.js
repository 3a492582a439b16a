// Search from file://. Browsers refuse workers there, so a hidden frame runs the worker's script instead.
// Only the part of Worker that the theme's search uses: postMessage, terminate and the "message" event.
(() => {
  if (location.protocol !== "file:") return;

  class FrameWorker extends EventTarget {
    constructor(url) {
      super();
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.body.append(this.frame);
      const inner = this.frame.contentWindow;
      // The script answers with postMessage(…), which in a frame would be a message to itself.
      inner.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      this.loaded = new Promise((resolve) => {
        const script = inner.document.createElement("script");
        script.onload = resolve;
        script.src = url;
        inner.document.body.append(script);
      });
    }

    postMessage(data) {
      this.loaded.then(() => {
        const inner = this.frame.contentWindow;
        if (inner) inner.dispatchEvent(new inner.MessageEvent("message", { data: structuredClone(data) }));
      });
    }

    terminate() {
      this.frame.remove();
    }
  }

  window.Worker = FrameWorker;
})();
