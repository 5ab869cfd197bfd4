// The web client's files. In C, because Swift's compiler takes a minute for as many bytes in an array literal. A
// new file goes into both lists.
#include "web_assets.h"

static const unsigned char account_js[] = {
#embed "../FanmillWeb/Assets/account.js"
};
static const unsigned char agree_js[] = {
#embed "../FanmillWeb/Assets/agree.js"
};
static const unsigned char api_js[] = {
#embed "../FanmillWeb/Assets/api.js"
};
static const unsigned char app_js[] = {
#embed "../FanmillWeb/Assets/app.js"
};
static const unsigned char dom_js[] = {
#embed "../FanmillWeb/Assets/dom.js"
};
static const unsigned char fans_js[] = {
#embed "../FanmillWeb/Assets/fans.js"
};
static const unsigned char icon_svg[] = {
#embed "../FanmillWeb/Assets/icon.svg"
};
static const unsigned char index_html[] = {
#embed "../FanmillWeb/Assets/index.html"
};
static const unsigned char ko_js[] = {
#embed "../FanmillWeb/Assets/ko.js"
};
static const unsigned char live_js[] = {
#embed "../FanmillWeb/Assets/live.js"
};
static const unsigned char look_js[] = {
#embed "../FanmillWeb/Assets/look.js"
};
static const unsigned char parts_js[] = {
#embed "../FanmillWeb/Assets/parts.js"
};
static const unsigned char people_js[] = {
#embed "../FanmillWeb/Assets/people.js"
};
static const unsigned char posts_js[] = {
#embed "../FanmillWeb/Assets/posts.js"
};
static const unsigned char scrypt_js[] = {
#embed "../FanmillWeb/Assets/scrypt.js"
};
static const unsigned char seal_js[] = {
#embed "../FanmillWeb/Assets/seal.js"
};
static const unsigned char style_css[] = {
#embed "../FanmillWeb/Assets/style.css"
};

#define ASSET(name, bytes) {name, bytes, sizeof bytes}

static const struct web_asset assets[] = {
  ASSET("index.html", index_html),
  ASSET("account.js", account_js),
  ASSET("agree.js", agree_js),
  ASSET("api.js", api_js),
  ASSET("app.js", app_js),
  ASSET("dom.js", dom_js),
  ASSET("fans.js", fans_js),
  ASSET("icon.svg", icon_svg),
  ASSET("ko.js", ko_js),
  ASSET("live.js", live_js),
  ASSET("look.js", look_js),
  ASSET("parts.js", parts_js),
  ASSET("people.js", people_js),
  ASSET("posts.js", posts_js),
  ASSET("scrypt.js", scrypt_js),
  ASSET("seal.js", seal_js),
  ASSET("style.css", style_css),
};

const struct web_asset *web_asset(size_t index) {
  return index < sizeof assets / sizeof *assets ? &assets[index] : NULL;
}
