package org.slf4j.impl;

import java.util.concurrent.ConcurrentHashMap;
import org.slf4j.ILoggerFactory;
import org.slf4j.Logger;
import org.slf4j.spi.LoggerFactoryBinder;

/** Binds SLF4J to the log of the slot. */
public class StaticLoggerBinder implements LoggerFactoryBinder, ILoggerFactory {
    public static String REQUESTED_API_VERSION = "1.6.99";

    private static final StaticLoggerBinder SINGLETON = new StaticLoggerBinder();

    private final ConcurrentHashMap loggers = new ConcurrentHashMap();

    public static StaticLoggerBinder getSingleton() {
        return SINGLETON;
    }

    public ILoggerFactory getLoggerFactory() {
        return this;
    }

    public String getLoggerFactoryClassStr() {
        return StaticLoggerBinder.class.getName();
    }

    public Logger getLogger(String name) {
        Logger logger = (Logger) loggers.get(name);
        if (logger == null) {
            loggers.putIfAbsent(name, new LinkLogger(name));
            logger = (Logger) loggers.get(name);
        }
        return logger;
    }
}
