package org.slf4j.impl;

import headrace.Log;
import org.slf4j.helpers.FormattingTuple;
import org.slf4j.helpers.MarkerIgnoringBase;
import org.slf4j.helpers.MessageFormatter;

/** A logger whose events go to the slot. */
public class LinkLogger extends MarkerIgnoringBase {
    private final String logger;

    LinkLogger(String logger) {
        this.logger = logger;
    }

    public String getName() {
        return logger;
    }

    private void log(int level, FormattingTuple text) {
        Log.emit(level, logger, text.getMessage(), text.getThrowable());
    }

    public boolean isTraceEnabled() {
        return Log.enabled(logger, 0);
    }

    public void trace(String message) {
        if (Log.enabled(logger, 0)) {
            Log.emit(0, logger, message, null);
        }
    }

    public void trace(String format, Object one) {
        if (Log.enabled(logger, 0)) {
            log(0, MessageFormatter.format(format, one));
        }
    }

    public void trace(String format, Object one, Object two) {
        if (Log.enabled(logger, 0)) {
            log(0, MessageFormatter.format(format, one, two));
        }
    }

    public void trace(String format, Object[] all) {
        if (Log.enabled(logger, 0)) {
            log(0, MessageFormatter.arrayFormat(format, all));
        }
    }

    public void trace(String message, Throwable error) {
        if (Log.enabled(logger, 0)) {
            Log.emit(0, logger, message, error);
        }
    }

    public boolean isDebugEnabled() {
        return Log.enabled(logger, 1);
    }

    public void debug(String message) {
        if (Log.enabled(logger, 1)) {
            Log.emit(1, logger, message, null);
        }
    }

    public void debug(String format, Object one) {
        if (Log.enabled(logger, 1)) {
            log(1, MessageFormatter.format(format, one));
        }
    }

    public void debug(String format, Object one, Object two) {
        if (Log.enabled(logger, 1)) {
            log(1, MessageFormatter.format(format, one, two));
        }
    }

    public void debug(String format, Object[] all) {
        if (Log.enabled(logger, 1)) {
            log(1, MessageFormatter.arrayFormat(format, all));
        }
    }

    public void debug(String message, Throwable error) {
        if (Log.enabled(logger, 1)) {
            Log.emit(1, logger, message, error);
        }
    }

    public boolean isInfoEnabled() {
        return Log.enabled(logger, 2);
    }

    public void info(String message) {
        if (Log.enabled(logger, 2)) {
            Log.emit(2, logger, message, null);
        }
    }

    public void info(String format, Object one) {
        if (Log.enabled(logger, 2)) {
            log(2, MessageFormatter.format(format, one));
        }
    }

    public void info(String format, Object one, Object two) {
        if (Log.enabled(logger, 2)) {
            log(2, MessageFormatter.format(format, one, two));
        }
    }

    public void info(String format, Object[] all) {
        if (Log.enabled(logger, 2)) {
            log(2, MessageFormatter.arrayFormat(format, all));
        }
    }

    public void info(String message, Throwable error) {
        if (Log.enabled(logger, 2)) {
            Log.emit(2, logger, message, error);
        }
    }

    public boolean isWarnEnabled() {
        return Log.enabled(logger, 3);
    }

    public void warn(String message) {
        if (Log.enabled(logger, 3)) {
            Log.emit(3, logger, message, null);
        }
    }

    public void warn(String format, Object one) {
        if (Log.enabled(logger, 3)) {
            log(3, MessageFormatter.format(format, one));
        }
    }

    public void warn(String format, Object one, Object two) {
        if (Log.enabled(logger, 3)) {
            log(3, MessageFormatter.format(format, one, two));
        }
    }

    public void warn(String format, Object[] all) {
        if (Log.enabled(logger, 3)) {
            log(3, MessageFormatter.arrayFormat(format, all));
        }
    }

    public void warn(String message, Throwable error) {
        if (Log.enabled(logger, 3)) {
            Log.emit(3, logger, message, error);
        }
    }

    public boolean isErrorEnabled() {
        return Log.enabled(logger, 4);
    }

    public void error(String message) {
        if (Log.enabled(logger, 4)) {
            Log.emit(4, logger, message, null);
        }
    }

    public void error(String format, Object one) {
        if (Log.enabled(logger, 4)) {
            log(4, MessageFormatter.format(format, one));
        }
    }

    public void error(String format, Object one, Object two) {
        if (Log.enabled(logger, 4)) {
            log(4, MessageFormatter.format(format, one, two));
        }
    }

    public void error(String format, Object[] all) {
        if (Log.enabled(logger, 4)) {
            log(4, MessageFormatter.arrayFormat(format, all));
        }
    }

    public void error(String message, Throwable error) {
        if (Log.enabled(logger, 4)) {
            Log.emit(4, logger, message, error);
        }
    }
}
