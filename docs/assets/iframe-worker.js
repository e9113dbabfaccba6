/*
 * Browsers start no workers for pages that are opened from a folder (file:). The search runs in a frame there:
 * the same script, with `self`, `postMessage` and `importScripts` as a worker has them. Messages come later, as a
 * worker's do.
 */
if (location.protocol === "file:") {
  window.Worker = class FrameWorker extends EventTarget {
    constructor(url) {
      super();
      this.waiting = [];
      const frame = document.createElement("iframe");
      frame.hidden = true;
      frame.src = "about:blank";
      document.body.append(frame);
      const inside = frame.contentWindow;
      // What the script posts reaches us as a worker's message.
      inside.postMessage = (data) =>
        setTimeout(() => {
          const event = new MessageEvent("message", { data });
          this.dispatchEvent(event);
          this.onmessage?.(event);
        });
      inside.importScripts = (...urls) =>
        urls.reduce(
          (before, one) =>
            before.then(
              () =>
                new Promise((done, failed) => {
                  const script = inside.document.createElement("script");
                  script.onload = done;
                  script.onerror = failed;
                  script.src = one;
                  inside.document.head.append(script);
                })
            ),
          Promise.resolve()
        );
      this.inside = inside;
      inside.importScripts(url).then(() => {
        const waiting = this.waiting;
        this.waiting = null;
        waiting.forEach((data) => this.postMessage(data));
      });
    }
    postMessage(data) {
      if (this.waiting) this.waiting.push(data);
      else setTimeout(() => this.inside.dispatchEvent(new this.inside.MessageEvent("message", { data })));
    }
    terminate() {}
  };
}
