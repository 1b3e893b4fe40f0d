// Pages opened from a disk may start no worker, which the search of the theme needs. There a hidden frame does its work:
// the same script, told the same messages. Pages from a server are left alone.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.body.append(this.frame);
      this.inside = this.frame.contentWindow;
      const page = this.inside.document;
      // Written, as the empty page that a frame begins with is replaced later by some browsers.
      page.open();
      page.write("<!doctype html><title>search</title><body>");
      page.close();
      this.inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      this.begun = new Promise((begin) => {
        const script = page.createElement("script");
        script.onload = begin;
        script.src = url;
        page.body.append(script);
      });
    }

    postMessage(data) {
      this.begun.then(() => this.inside.dispatchEvent(new this.inside.MessageEvent("message", { data })));
    }

    terminate() {
      this.frame.remove();
    }
  };
}
